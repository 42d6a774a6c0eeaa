// Splits by hand, where a regular expression is too slow or cannot say it.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/tokenizer/pre_tokenizer_rules.h"

namespace adze::text {

// Returns the first match in `text` at or after `start`: a view into it; an empty one at its end
// where there is none. `text` is valid UTF-8 unless reads_bytes(). Time is proportional to the
// bytes passed.
using SplitScanner = std::string_view (*)(std::string_view text, size_t start);

// Null for a rule that only its pattern describes.
SplitScanner split_scanner(SplitRule rule);

// Has the rule a scanner to which all bytes are alike?
bool reads_bytes(SplitRule rule);

}  // namespace adze::text
