#include "text/tokenizer/detokenizer.h"

#include "base/utf8.h"

namespace adze::text {

std::string StreamingDetokenizer::push(TokenId id) {
  const std::string_view token = tokenizer_.token_bytes(id);
  if (skip_special_ && tokenizer_.vocabulary().is_control(id)) return {};
  pending_ += token;
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const size_t valid = utf8_valid_prefix(rest);
    text += rest.substr(0, valid);
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Step step = utf8_step(rest);
    if (step.status == Utf8Status::kIncomplete) break;
    text += kReplacementCharacter;
    rest.remove_prefix(step.length);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

std::string StreamingDetokenizer::flush() {
  // What is pending is one incomplete character, hence one maximal subpart.
  std::string text(pending_.empty() ? std::string_view() : kReplacementCharacter);
  pending_.clear();
  return text;
}

}  // namespace adze::text
