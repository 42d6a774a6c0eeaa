// Byte-level byte-pair encoding: GPT-2's tokenizer and its descendants.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::text {

// The results are those of HF's `tokenizers` for the same vocabulary, merges and pre-tokenizer. Two
// matters beyond it:
//
// Bytes that are not UTF-8, which it cannot be given: each maximal run of them is a word of its
// own, and the text on either side is split as if it ended there.
//
// A byte for which the vocabulary has no token leaves no trace (as there): SmolLM2's lacks 21
// bytes, of which 8 occur in UTF-8 (six control characters, and 0xf1 and 0xf2 that begin unassigned
// planes).
class ByteLevelBpe final : public Tokenizer {
 public:
  // Throws as make_tokenizer() says.
  explicit ByteLevelBpe(VocabularyData data);

  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const override;
  std::string_view token_bytes(TokenId id) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  struct Work;  // of one call to encode()
  void encode_plain(std::string_view text, Work& work) const;
  void encode_valid(std::string_view text, Work& work) const;
  void encode_word(std::string_view word, Work& work) const;
  std::optional<TokenId> whole_word(std::string_view word) const;

  Vocabulary vocabulary_;
  PreTokenizer pre_tokenizer_;
  MergeTable merges_;
  SpecialTokenMatcher added_;
  StringTable bytes_;                  // what each token stands for
  std::array<TokenId, 256> byte_ids_;  // −1: the vocabulary has no token for this byte
};

}  // namespace adze::text
