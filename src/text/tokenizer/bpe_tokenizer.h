// What all tokenizers by byte-pair encoding share: added tokens, bos and eos, the tokens' bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::text {

class BpeTokenizer : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const final;
  std::string_view token_bytes(TokenId id) const final;
  const Vocabulary& vocabulary() const final { return vocabulary_; }

 protected:
  explicit BpeTokenizer(VocabularyData data);

  // What one call to encode() needs besides.
  class Encoder {
   public:
    virtual ~Encoder() = default;
    // Appends the tokens of plain text, which may be any bytes, to `out`.
    virtual void encode(std::string_view text, std::vector<TokenId>& out) = 0;
  };
  // For texts of about `bytes` bytes.
  virtual std::unique_ptr<Encoder> make_encoder(size_t bytes) const = 0;

  // What each token stands for, in the order of their ids; for the derived class to fill.
  StringTable bytes_;

 private:
  struct Run;  // of encode()
  void encode_part(Run& run, size_t matcher, ByteRange part) const;
  void encode_plain(Run& run, ByteRange part) const;

  Vocabulary vocabulary_;
  std::vector<SpecialTokenMatcher> matchers_;  // one after another, each in what the others left
};

}  // namespace adze::text
