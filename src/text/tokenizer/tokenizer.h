// From text to tokens and back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_range.h"
#include "text/tokenizer/vocabulary.h"

namespace adze::text {

// The longest text that encode() takes.
inline constexpr size_t kMaxTextBytes = size_t{1} << 30;

struct EncodeOptions {
  // Puts bos before and eos behind, where the vocabulary says so.
  bool add_special = true;
  // Text that spells a control token becomes that token. Off for what users write: their text stays
  // text. (Tokens of type user-defined are part of plain text and are always recognized.)
  bool parse_special = false;
  // Parts that users wrote in a text whose control tokens are parsed: sorted, not overlapping. A
  // control token that any byte of them would spell stays text; the rest is tokenized as one.
  std::span<const ByteRange> literal = {};
};

// All functions are const and safe to call from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The tokens of `text`, which may be any bytes. Time grows as n log n at worst. Throws
  // Error{kResourceExhausted} above kMaxTextBytes.
  virtual std::vector<TokenId> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const = 0;

  // The bytes that a token stands for: often not whole characters. The view lives as long as the
  // tokenizer. Throws Error{kInvalidInput} where there is no such token.
  virtual std::string_view token_bytes(TokenId id) const = 0;

  virtual const Vocabulary& vocabulary() const = 0;

  // The bytes of all tokens, those of control tokens left out with `skip_special`, and a blank with
  // which the first of the others begins, where the vocabulary puts one before texts. Without
  // normalization and where the vocabulary has a token for every byte (SentencePiece's: and for the
  // blank), decode_bytes(encode(x)) is x for every x without added tokens (SentencePiece's: and
  // without U+2581).
  std::string decode_bytes(std::span<const TokenId> ids, bool skip_special = false) const;

  // The same as text: U+FFFD stands for each maximal subpart that is not UTF-8.
  std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;
};

// Throws Error{kUnsupported} for a kind of tokenizer or pre-tokenizer that is not known here, and
// Error{kInvalidInput} for a vocabulary that contradicts itself.
std::unique_ptr<const Tokenizer> make_tokenizer(VocabularyData data);

}  // namespace adze::text
