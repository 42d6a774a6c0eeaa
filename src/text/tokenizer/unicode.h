// Characters of UTF-8 text and the classes that tokenizers ask about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace adze::text {

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

// The UTF-8 of a code point below 0x110000.
std::string encode_utf8(uint32_t codepoint);

// Classes as bits; a character may have several.
enum : uint8_t {
  kLetter = 1,            // \p{L}
  kNumber = 2,            // \p{N}
  kBlank = 4,             // \s: White_Space
  kMark = 8,              // \p{M}
  kPunctuationMark = 16,  // \p{P}
};

// By the Unicode tables of utf8proc.
uint8_t character_class(uint32_t codepoint);

inline bool is_blank(uint32_t codepoint) { return (character_class(codepoint) & kBlank) != 0; }

// May the character stand inside a word, \w of Unicode's technical standard 18?
bool is_word_character(uint32_t codepoint);

}  // namespace adze::text
