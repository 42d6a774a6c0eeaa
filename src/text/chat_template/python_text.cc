#include "text/chat_template/python_text.h"

#include <fmt/core.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/utf8.h"

namespace adze::text::chat {

Character first_character(std::string_view text) {
  utf8proc_int32_t codepoint = -1;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &codepoint);
  if (length <= 0) return {-1, 1};
  return {codepoint, static_cast<size_t>(length)};
}

namespace {

// How many of the at most `most` bytes from `at` on are ASCII, up to the first that is not.
size_t ascii_run(std::string_view text, size_t at, size_t most) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  const size_t end = at + std::min(most, text.size() - at);
  size_t i = at;
  for (uint64_t eight = 0; i + 8 <= end; i += 8) {
    std::memcpy(&eight, text.data() + i, 8);
    if ((eight & kHighBits) != 0) break;
  }
  while (i < end && static_cast<uint8_t>(text[i]) < 0x80) ++i;
  return i - at;
}

}  // namespace

std::vector<size_t> character_offsets(std::string_view text) {
  std::vector<size_t> offsets;
  size_t at = 0;
  for (; at < text.size(); at += first_character(text.substr(at)).length) offsets.push_back(at);
  offsets.push_back(at);
  return offsets;
}

size_t character_count(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const size_t ascii = ascii_run(text, at, text.size() - at);
    at += ascii;
    count += ascii;
    if (at == text.size()) break;
    at += first_character(text.substr(at)).length;
  }
  return count;
}

size_t character_offset(std::string_view text, size_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    const size_t ascii = ascii_run(text, at, index);
    at += ascii;
    index -= ascii;
    if (index == 0 || at == text.size()) break;
    at += first_character(text.substr(at)).length;
    --index;
  }
  return at;
}

bool is_python_space(int32_t codepoint) {
  if (codepoint < 0) return false;
  if (codepoint < 0x80)
    return codepoint == ' ' || (codepoint >= 9 && codepoint <= 13) ||
           (codepoint >= 0x1c && codepoint <= 0x1f);
  const auto* property = utf8proc_get_property(codepoint);
  return property->category == UTF8PROC_CATEGORY_ZS ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_B ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_S ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_WS;
}

bool is_decimal(int32_t codepoint) { return utf8proc_category(codepoint) == UTF8PROC_CATEGORY_ND; }

bool is_digit(int32_t codepoint) {
  // Unicode's Numeric_Type=Digit (DerivedNumericType.txt): superscripts, circled digits and so on.
  static constexpr std::pair<int32_t, int32_t> kDigits[] = {
      {0xb2, 0xb3},       {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},
      {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
      {0x2474, 0x247c},   {0x2488, 0x2490},   {0x24ea, 0x24ea},   {0x24f5, 0x24fd},
      {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},   {0x278a, 0x2792},
      {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a}};
  return is_decimal(codepoint) ||
         std::any_of(std::begin(kDigits), std::end(kDigits), [&](const auto& range) {
           return codepoint >= range.first && codepoint <= range.second;
         });
}

bool is_numeric(int32_t codepoint) {
  const auto category = utf8proc_category(codepoint);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool is_letter(int32_t codepoint) {
  const auto category = utf8proc_category(codepoint);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_letter_or_digit(int32_t codepoint) { return is_letter(codepoint) || is_numeric(codepoint); }

bool is_word(int32_t codepoint) { return is_letter_or_digit(codepoint) || codepoint == '_'; }

namespace {

bool is_cased(int32_t codepoint) {
  if (codepoint < 0) return false;
  const auto category = utf8proc_category(codepoint);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

std::string map_character(int32_t codepoint, Case to) {
  struct Special {
    int32_t codepoint;
    const char* upper;
    const char* title;
  };
  static constexpr Special kSpecial[] = {
#include "text/chat_template/special_casing.inc"
  };
  if (codepoint == 0x130 && to == Case::kLower) return "i\u0307";
  const auto* const special =
      std::lower_bound(std::begin(kSpecial), std::end(kSpecial), codepoint,
                       [](const Special& row, int32_t wanted) { return row.codepoint < wanted; });
  if (special != std::end(kSpecial) && special->codepoint == codepoint && to != Case::kLower) {
    return to == Case::kUpper ? special->upper : special->title;
  }
  switch (to) {
    case Case::kUpper:
      return encode_utf8(static_cast<uint32_t>(utf8proc_toupper(codepoint)));
    case Case::kLower:
      return encode_utf8(static_cast<uint32_t>(utf8proc_tolower(codepoint)));
    default:
      return encode_utf8(static_cast<uint32_t>(utf8proc_totitle(codepoint)));
  }
}

// Whether the capital sigma at `at` ends a word: a letter before it and none after.
bool is_final_sigma(std::string_view text, size_t at, int32_t before) {
  const std::string_view rest = text.substr(at + 2);
  return is_cased(before) && (rest.empty() || !is_cased(first_character(rest).codepoint));
}

}  // namespace

String change_case(const String& text, Case to) {
  String out;
  const std::string_view bytes = text.text();
  int32_t previous = -1;
  std::string ascii;  // most text is: a run of it at once
  for (size_t at = 0; at < bytes.size();) {
    ascii.clear();
    const size_t begin = at;
    for (; at < bytes.size() && static_cast<uint8_t>(bytes[at]) < 0x80; ++at) {
      const char c = bytes[at];
      const bool upper = to == Case::kUpper || (to == Case::kTitle && !is_cased(previous)) ||
                         (to == Case::kCapitalize && at == 0);
      if (upper) {
        ascii += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      } else {
        ascii += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      }
      previous = c;
    }
    out.append_as(ascii, text, begin);
    if (at == bytes.size()) break;
    const Character character = first_character(bytes.substr(at));
    if (character.codepoint < 0) {
      out.append_part(text, at, at + 1);
    } else {
      Case each = to;
      if (to == Case::kTitle) each = is_cased(previous) ? Case::kLower : Case::kTitle;
      if (to == Case::kCapitalize) each = at == 0 ? Case::kTitle : Case::kLower;
      const bool sigma = each == Case::kLower && character.codepoint == 0x3a3;
      const std::string mapped = sigma && is_final_sigma(bytes, at, previous)
                                     ? "\u03c2"
                                     : map_character(character.codepoint, each);
      out.append(mapped, text.has_input(at, at + character.length));
    }
    previous = character.codepoint;
    at += character.length;
  }
  return out;
}

namespace {

// \xhh, \uhhhh or \Uhhhhhhhh at `at`, which stands behind the letter.
std::string hex_escape(std::string_view text, size_t& at, size_t digits, std::string& error) {
  uint32_t codepoint = 0;
  const std::string_view hex = text.substr(at, digits);
  const auto [end, status] = std::from_chars(hex.data(), hex.data() + hex.size(), codepoint, 16);
  const bool valid = hex.size() == digits && status == std::errc() && end == hex.data() + digits;
  if (!valid || !utf8proc_codepoint_valid(static_cast<int32_t>(codepoint))) {
    error = "a string with a broken \\x, \\u or \\U escape";
    return "";
  }
  at += digits;
  return encode_utf8(codepoint);
}

}  // namespace

std::string unescape(std::string_view inside, std::string& error) {
  static constexpr std::string_view kLetters = "\\'\"abfnrtv";
  static constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t at = 0; at < inside.size();) {
    const char c = inside[at++];
    if (c != '\\' || at == inside.size()) {
      out += c;
      continue;
    }
    const char letter = inside[at++];
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      out += kMeanings[known];
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      out += hex_escape(inside, at, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, error);
    } else if (letter >= '0' && letter <= '7') {
      auto value = static_cast<uint32_t>(letter - '0');
      for (int i = 0; i < 2 && at < inside.size() && inside[at] >= '0' && inside[at] <= '7'; ++i) {
        value = value * 8 + static_cast<uint32_t>(inside[at++] - '0');
      }
      out += encode_utf8(value);
    } else if (letter == 'N') {
      error = "a string with a \\N escape, which is not supported";
    } else if (letter != '\n') {
      out += c;
      out += letter;
    }
  }
  return out;
}

std::optional<int64_t> parse_int(std::string_view digits, int base) {
  int64_t value = 0;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (status != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (number == 0) return std::signbit(number) ? "-0.0" : "0.0";
  // The shortest digits that give the number back, placed as float.__repr__ places them.
  std::array<char, 40> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number),
                                    std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(result.ptr - buffer.data()));
  const size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  int exponent = 0;
  // It has a sign always, and std::from_chars reads no plus.
  const size_t number_at = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + number_at, text.data() + text.size(), exponent);
  std::string out = number < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

namespace {

bool is_printable(int32_t codepoint) {
  if (codepoint == ' ') return true;
  switch (utf8proc_category(codepoint)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string quoted_text(std::string_view text) {
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const int32_t c = character.codepoint;
    if (c < 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    } else if (c == quote || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(at, character.length);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", c);
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += fmt::format("\\U{:08x}", c);
    }
    at += character.length;
  }
  return out + quote;
}

}  // namespace adze::text::chat
