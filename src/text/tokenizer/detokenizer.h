// Text from tokens as they are generated.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace adze::text {

// Not for several threads at once.
class StreamingDetokenizer {
 public:
  // `tokenizer` must outlive this. With `skip_special` control tokens give no text.
  explicit StreamingDetokenizer(const Tokenizer& tokenizer, bool skip_special = false)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  // Takes one more token and returns the text that it completes: always whole characters, valid
  // UTF-8. A maximal subpart that is not UTF-8 becomes U+FFFD as soon as no further byte can save
  // it. Throws as token_bytes() does.
  std::string push(TokenId id);

  // The end of the stream: what is left of a character, as U+FFFD, or nothing. The next push()
  // starts anew.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::string pending_;  // the beginning of a character, at most three bytes
};

}  // namespace adze::text
