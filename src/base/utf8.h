// UTF-8, one character at a time, over bytes that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace adze {

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

struct Character {
  uint32_t codepoint;
  uint32_t length;  // in bytes
};

// The character that begins at `position` of `text`, which must be valid UTF-8.
inline Character decode_utf8(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[position + i]));
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

// The UTF-8 of a code point below 0x110000; of a surrogate, the three bytes that one would have.
std::string encode_utf8(uint32_t codepoint);

// Characters of valid UTF-8: as good as columns for most of what is printed.
size_t count_characters(std::string_view text);

}  // namespace adze
