#include "text/chat_template/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/chat_template/python_text.h"

namespace adze::text::chat {
namespace {

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// A number at the front of `text`, which it is taken from; −1 where there is none.
int64_t take_number(Context& context, std::string_view& text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0) return -1;
  const auto value = parse_int(text.substr(0, digits), 10);
  // A width takes as much memory as a text of that size, and so does a precision.
  if (!value || *value > static_cast<int64_t>(Limits::kMemory)) {
    context.exhausted("columns of a format", Limits::kMemory);
  }
  text.remove_prefix(digits);
  return *value;
}

bool take(std::string_view& text, std::string_view choices, char& into) {
  if (text.empty() || choices.find(text[0]) == std::string_view::npos) return false;
  into = text[0];
  text.remove_prefix(1);
  return true;
}

// `digits` with `separator` between groups of `size` and zeros in front, at least `width` long.
std::string group_digits(Context& context, std::string digits, char separator, size_t size,
                         int64_t width) {
  const auto grouped = [&](size_t count) {
    return count + (separator && count > 0 ? (count - 1) / size : 0);
  };
  const size_t wanted = width > 0 ? static_cast<size_t>(width) : 0;
  context.charge(wanted);
  context.spend_bytes(wanted);
  size_t count = digits.size();
  if (grouped(count) < wanted) {
    count = separator ? std::max(count, wanted - wanted / (size + 1)) : wanted;
    while (grouped(count) < wanted) ++count;
  }
  digits.insert(0, count - digits.size(), '0');
  if (!separator) return digits;
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && (count - i) % size == 0) out += separator;
    out += digits[i];
  }
  return out;
}

// Sign and prefix, then the digits in front of `rest`, grouped and padded with zeros between.
std::string assemble(Context& context, bool negative, std::string_view prefix, std::string digits,
                     std::string_view rest, size_t group, const FormatSpec& spec) {
  std::string out = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  out += prefix;
  const bool inner = spec.align == '=' || (spec.zeros && !spec.align);
  const bool zeros = inner && (spec.fill == "0" || (spec.zeros && !spec.align));
  const int64_t width = spec.width - static_cast<int64_t>(out.size() + rest.size());
  digits = group_digits(context, std::move(digits), spec.grouping, group, zeros ? width : 0);
  if (inner && !zeros && width > static_cast<int64_t>(digits.size())) {
    const auto count = static_cast<size_t>(width) - digits.size();
    context.charge(count * spec.fill.size());
    for (size_t i = 0; i < count; ++i) out += spec.fill;
  }
  return out + digits + std::string(rest);
}

std::string in_base(uint64_t number, unsigned base) {
  std::string digits;
  do {
    digits += "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

// The digits of a number that is not negative.
std::string print_float(Context& context, double number, const FormatSpec& spec, char type,
                        int64_t precision) {
  context.charge(static_cast<uint64_t>(precision));
  context.spend_bytes(static_cast<size_t>(precision));
  const std::string format = std::string(spec.alternate ? "%#.*" : "%.*") + type;
  const int wanted = static_cast<int>(precision);
  const int size = std::snprintf(nullptr, 0, format.c_str(), wanted, number);
  std::string out(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), format.c_str(), wanted, number);
  out.pop_back();
  return out;
}

// str(number) where there is no precision, else as for 'g' with a digit behind the point.
std::string print_plain(Context& context, double number, const FormatSpec& spec) {
  if (spec.precision < 0) return float_text(number);
  const int64_t precision = std::max<int64_t>(spec.precision, 1);
  if (number == 0) return precision > 1 ? "0.0" : "0e+00";
  const std::string scientific = print_float(context, number, {}, 'e', precision - 1);
  const int64_t exponent = std::strtol(scientific.c_str() + scientific.find('e') + 1, nullptr, 10);
  std::string out = print_float(context, number, spec, 'g', precision);
  if (exponent < precision - 1 || exponent < -4) {
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
  }
  if (out.find('e') != std::string::npos) return out;
  // One digit before the point and as many behind it as there are.
  std::string digits = out.substr(0, out.find('.'));
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  std::string mantissa = digits.substr(0, 1);
  if (digits.size() > 1) mantissa += "." + digits.substr(1);
  return mantissa + fmt::format("e+{:02}", exponent);
}

}  // namespace

FormatSpec parse_format_spec(Context& context, std::string_view text, std::string_view type_name) {
  FormatSpec spec;
  const std::string_view whole = text;
  const size_t first = text.empty() ? 0 : first_character(text).length;
  const bool filled = text.size() > first && is_align(text[first]);
  if (filled) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else {
    take(text, "<>^=", spec.align);
  }
  spec.signless = !take(text, "+- ", spec.sign);
  char flag;
  spec.no_negative_zero = take(text, "z", flag);
  spec.alternate = take(text, "#", flag);
  if (!text.empty() && text[0] == '0' && !filled) {
    spec.zeros = true;
    spec.fill = "0";
    text.remove_prefix(1);
  }
  spec.width = std::max<int64_t>(take_number(context, text), 0);
  take(text, ",_", spec.grouping);
  if (take(text, ".", flag)) {
    spec.precision = take_number(context, text);
    if (spec.precision < 0) context.fail("Format specifier missing precision");
  }
  if (text.size() == 1) {
    spec.type = text[0];
  } else if (!text.empty()) {
    context.fail("Invalid format specifier '{}' for object of type '{}'", printable(whole),
                 type_name);
  }
  return spec;
}

std::string format_integer(Context& context, int64_t number, const FormatSpec& spec) {
  const bool negative = number < 0;
  const uint64_t size = negative ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const auto written = [&](std::string_view prefix, std::string digits, size_t group) {
    return assemble(context, negative, spec.alternate ? prefix : "", std::move(digits), "", group,
                    spec);
  };
  if (spec.precision >= 0) context.fail("Precision not allowed in integer format specifier");
  switch (spec.type) {
    case '\0':
    case 'd':
      return written("", in_base(size, 10), 3);
    case 'b':
    case 'o':
    case 'x':
    case 'X': {
      if (spec.grouping == ',') context.fail("Cannot specify ',' with '{}'.", spec.type);
      const unsigned base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : 16;
      const std::string digits = in_base(size, base);
      if (spec.type == 'X') return written("0X", upper_case(digits), 4);
      return written(spec.type == 'b' ? "0b" : spec.type == 'o' ? "0o" : "0x", digits, 4);
    }
    default:
      context.fail("Unknown format code '{}' for object of type 'int'",
                   printable(std::string_view(&spec.type, 1)));
  }
}

std::string format_float(Context& context, double number, const FormatSpec& spec) {
  std::string text;
  const double size = std::abs(number);
  const char type = static_cast<char>(spec.type | 0x20);
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if (!std::isfinite(number)) {
    text = std::isnan(number) ? "nan" : "inf";
    if (spec.type == '%') text += '%';
  } else if (spec.type == '\0') {
    text = print_plain(context, size, spec);
  } else if (spec.type == '%') {
    text = print_float(context, size * 100, spec, 'f', precision) + "%";
  } else if (type == 'e' || type == 'f') {
    text = print_float(context, size, spec, type, precision);
  } else if (type == 'g') {
    text = print_float(context, size, spec, type, std::max<int64_t>(precision, 1));
  } else {
    context.fail("Unknown format code '{}' for object of type 'float'",
                 printable(std::string_view(&spec.type, 1)));
  }
  if (upper) text = upper_case(std::move(text));
  const bool zero = text.find_first_of("123456789infa") == std::string::npos;
  const bool negative =
      std::signbit(number) && !std::isnan(number) && !(spec.no_negative_zero && zero);
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) {  // not a finite number: no zeros and no groups, but padding as wide
    FormatSpec plain = spec;
    plain.grouping = '\0';
    return assemble(context, negative, "", "", text, 3, plain);
  }
  return assemble(context, negative, "", text.substr(0, digits), text.substr(digits), 3, spec);
}

}  // namespace adze::text::chat
