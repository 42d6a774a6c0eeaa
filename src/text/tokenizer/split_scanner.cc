#include "text/tokenizer/split_scanner.h"

#include <cstdint>

#include "base/utf8.h"
#include "text/tokenizer/unicode.h"

namespace adze::text {
namespace {

// \s+$
std::string_view trailing_blanks(std::string_view text, size_t start) {
  size_t begin = text.size();
  while (begin > start) {
    size_t previous = begin - 1;
    while ((static_cast<uint8_t>(text[previous]) & 0xc0) == 0x80) --previous;
    if (!is_blank(decode_utf8(text, previous).codepoint)) break;
    begin = previous;
  }
  return text.substr(begin);
}

// Digits in the byte-level spelling: besides ASCII's the bytes that it spells ², ³, ¹, ¼, ½ and ¾.
bool is_byte_level_digit(char byte) {
  switch (static_cast<uint8_t>(byte)) {
    case 0xb2:
    case 0xb3:
    case 0xb9:
    case 0xbc:
    case 0xbd:
    case 0xbe:
      return true;
    default:
      return byte >= '0' && byte <= '9';
  }
}
std::string_view byte_level_digits(std::string_view text, size_t start) {
  size_t begin = start;
  while (begin < text.size() && !is_byte_level_digit(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && is_byte_level_digit(text[end])) ++end;
  return text.substr(begin, end - begin);
}

// [0-9][0-9][0-9]
std::string_view ascii_triple(std::string_view text, size_t start) {
  size_t digits = 0;
  for (size_t i = start; i < text.size(); ++i) {
    digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
    if (digits == 3) return text.substr(i - 2, 3);
  }
  return text.substr(text.size());
}

}  // namespace

SplitScanner split_scanner(SplitRule rule) {
  switch (rule) {
    case SplitRule::kTrailingBlanks:
      return trailing_blanks;
    case SplitRule::kByteLevelDigits:
      return byte_level_digits;
    case SplitRule::kAsciiTriple:
      return ascii_triple;
    default:
      return nullptr;
  }
}

bool reads_bytes(SplitRule rule) {
  return rule == SplitRule::kByteLevelDigits || rule == SplitRule::kAsciiTriple;
}

}  // namespace adze::text
