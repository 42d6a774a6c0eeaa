// UTF-8, one character at a time, over bytes that may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace adze::text {

enum class Utf8Status {
  kValid,       // one character
  kInvalid,     // bytes that no continuation can make valid
  kIncomplete,  // the input ends inside what may still become a character
};

struct Utf8Step {
  Utf8Status status;
  // kValid: the bytes of the character. Otherwise those of the maximal subpart (Unicode 15,
  // section 3.9, "U+FFFD substitution of maximal subparts"): what one U+FFFD stands for.
  size_t length;
};

// What `bytes`, which must not be empty, begins with.
Utf8Step utf8_step(std::string_view bytes);

// Length of the longest prefix of whole valid characters.
size_t utf8_valid_prefix(std::string_view bytes);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// The text with U+FFFD for each maximal subpart that is not UTF-8.
std::string replace_invalid_utf8(std::string_view bytes);

}  // namespace adze::text
