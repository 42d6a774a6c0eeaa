// Unicode normalization.
#pragma once

#include <string>
#include <string_view>

namespace adze::text {

// Normalization form C (Unicode standard annex 15) of valid UTF-8. Linear but for sorting runs of
// combining marks.
std::string normalize_nfc(std::string_view text);

}  // namespace adze::text
