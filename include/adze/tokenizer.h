// Text to tokens and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace adze {

namespace internal {
struct ModelState;
}

// A model's tokenizer. It keeps what it needs of its model alive. Immutable: safe to use from
// several threads, also while the model runs.
class Tokenizer {
 public:
  // The tokens of `text`, which may be any bytes, with the begin and end tokens that the model
  // wants. Text that spells a control token becomes that token only with `parse_special`: leave it
  // off for what users write. Throws Error{kResourceExhausted} above 1 GiB.
  std::vector<int32_t> encode(std::string_view text, bool parse_special = false) const;

  // The text of tokens, control tokens left out; U+FFFD stands for what is not UTF-8. Throws
  // Error{kInvalidInput} for an id that is not a token.
  std::string decode(const std::vector<int32_t>& tokens) const;

  // The bytes of one token: often not whole characters. The view lives as long as a copy of this
  // tokenizer, or its model. Throws as decode() does.
  std::string_view token_bytes(int32_t token) const;

  // Number of tokens: ids are from 0 to this, exclusive.
  int32_t size() const;

 private:
  friend class Model;
  explicit Tokenizer(std::shared_ptr<const internal::ModelState> state);
  std::shared_ptr<const internal::ModelState> state_;
};

}  // namespace adze
