// Text as Python's str has it: characters are code points; literals; representations of numbers.
// A byte that no UTF-8 character accounts for counts as a character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template/tracked_string.h"

namespace adze::text::chat {

// The code point that `text`, not empty, begins with and its bytes; −1 for a stray byte.
struct Character {
  int32_t codepoint;
  size_t length;
};
Character first_character(std::string_view text);

// Where each character begins, and the size at the end.
std::vector<size_t> character_offsets(std::string_view text);
size_t character_count(std::string_view text);
// The byte at which character `index` begins; the text's size where there are not so many.
size_t character_offset(std::string_view text, size_t index);

// str.isspace() of one code point.
bool is_python_space(int32_t codepoint);
// str.isdecimal(), str.isdigit(), str.isalpha(), str.isalnum(); what \w matches.
bool is_decimal(int32_t codepoint);
bool is_digit(int32_t codepoint);
bool is_word(int32_t codepoint);
bool is_letter(int32_t codepoint);
bool is_letter_or_digit(int32_t codepoint);

enum class Case { kUpper, kLower, kTitle, kCapitalize };
String change_case(const String& text, Case to);

// The value of a string literal's inside; `error` says what is wrong with it.
std::string unescape(std::string_view inside, std::string& error);

// All of `digits` as a number; nothing where it does not fit or is not one.
std::optional<int64_t> parse_int(std::string_view digits, int base);

// repr() of a float and of a str.
std::string float_text(double number);
std::string quoted_text(std::string_view text);

}  // namespace adze::text::chat
