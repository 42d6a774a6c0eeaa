// The classes of characters that tokenizers ask about.
#pragma once

#include <cstdint>

namespace adze::text {

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
