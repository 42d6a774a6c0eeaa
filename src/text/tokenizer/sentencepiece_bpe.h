// SentencePiece's byte-pair encoding (Kudo and Richardson, "SentencePiece: A simple and language
// independent subword tokenizer", 2018): Llama 2's tokenizer, Mistral's, Gemma's.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "text/tokenizer/bpe_tokenizer.h"
#include "text/tokenizer/character_pairs.h"
#include "text/tokenizer/flat_map.h"
#include "text/tokenizer/merge_table.h"

namespace adze::text {

// Blanks become U+2581, characters merge over the whole text, and a character without a token
// becomes the tokens of its bytes or, where the vocabulary has none, the unknown token (or no
// trace, where it has none either).
//
// The results are those of the `sentencepiece` library for merges by score and those of HF's
// `tokenizers` for listed ones. Beyond them: bytes that are not UTF-8, of which neither takes any,
// are characters without a token. Tokens of type unused are never made.
class SentencePieceBpe final : public BpeTokenizer {
 public:
  // Throws as make_tokenizer() says.
  explicit SentencePieceBpe(VocabularyData data);

 protected:
  std::unique_ptr<Encoder> make_encoder(size_t bytes) const override;

 private:
  class CharacterEncoder;
  void add_token(TokenId id);
  void add_characters(std::string_view text);
  void add_joints(std::string_view text);

  // Symbols are token ids and, from the vocabulary's size on, the members of `tokenless_`:
  // characters that have no token of their own but are part of one.
  std::vector<uint32_t> tokenless_;
  FlatMap<TokenId> characters_;  // code point → symbol
  std::optional<MergeTable> merges_;
  CharacterPairs joints_;              // neighbours inside what merges make
  std::array<TokenId, 256> byte_ids_;  // −1: the vocabulary has no token for this byte
  bool splits_at_blanks_ = false;
};

}  // namespace adze::text
