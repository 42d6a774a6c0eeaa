#include "text/chat_template/formatting.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "text/chat_template/number_format.h"
#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"
#include "text/chat_template/text_methods.h"

namespace adze::text::chat {

String pad_text(Context& context, const String& text, int64_t width, const String& fill,
                char align) {
  const size_t size = character_count(text.text());
  const size_t wanted = width > 0 ? static_cast<size_t>(width) : 0;
  if (wanted <= size) return text;
  const size_t missing = wanted - size;
  if (missing > Limits::kMemory) context.exhausted("columns of a format", Limits::kMemory);
  context.charge(missing * fill.bytes());
  context.spend_bytes(missing * fill.bytes());
  const size_t left = align == '<'   ? 0
                      : align == '>' ? missing
                      : align == '^' ? missing / 2
                                     : missing / 2 + (missing & wanted & 1);
  String out;
  for (size_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (size_t i = left; i < missing; ++i) out.append(fill);
  return out;
}

namespace {

String cut(const String& text, int64_t precision) {
  if (precision < 0) return text;
  return text.part(0, character_offset(text.text(), static_cast<size_t>(precision)));
}

String format_string(Context& context, const String& text, const FormatSpec& spec) {
  if (spec.type != '\0' && spec.type != 's') {
    context.fail("Unknown format code '{}' for object of type 'str'",
                 printable(std::string_view(&spec.type, 1)));
  }
  if (!spec.signless) context.fail("Sign not allowed in string format specifier");
  if (spec.alternate) {
    context.fail("Alternate form (#) not allowed in string format specifier");
  }
  if (spec.align == '=') context.fail("'=' alignment not allowed in string format specifier");
  if (spec.grouping) context.fail("Cannot specify '{}' with 's'.", spec.grouping);
  return pad_text(context, cut(text, spec.precision), spec.width, String(spec.fill),
                  spec.align ? spec.align : '<');
}

String format_number(Context& context, const Value& value, const FormatSpec& spec) {
  std::string text;
  if (spec.type == 'n') context.unsupported("the format code 'n'");
  if (!value.is_float() && spec.type == 'c') {
    const int64_t code = value.as_int();
    if (code < 0 || code > 0x10ffff) context.fail("%c arg not in range(0x110000)");
    text = encode_utf8(static_cast<uint32_t>(code));
  } else if (value.is_float() ||
             std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    text = format_float(context, value.as_float(), spec);
  } else {
    text = format_integer(context, value.as_int(), spec);
  }
  const char align = spec.align && spec.align != '=' ? spec.align : '>';
  return pad_text(context, String(text, value.has_input()), spec.width, String(spec.fill), align);
}

}  // namespace

String format_value(Context& context, const Value& value, std::string_view text) {
  if (text.empty()) return to_string(context, value);
  if (!value.string() && !value.is_number()) {
    context.fail("unsupported format string passed to {}.__format__", value.type_name());
  }
  const FormatSpec spec = parse_format_spec(context, text, value.type_name());
  if (value.string()) return format_string(context, *value.string(), spec);
  return format_number(context, value, spec);
}

namespace {

std::string ascii_text(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    const int32_t c = character.codepoint;
    if (c < 0x80) {
      out += text.substr(at, character.length);
    } else {
      out += c < 0x100     ? fmt::format("\\x{:02x}", c)
             : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                           : fmt::format("\\U{:08x}", c);
    }
    at += character.length;
  }
  return out;
}

// What !r, !a and %r, %a make of a value.
Value converted(Context& context, const Value& value, char conversion) {
  if (conversion == 's') {
    String text = to_string(context, value);
    text.set_markup(false);
    return context.text(std::move(text));
  }
  std::string text = representation(context, value);
  if (conversion == 'a') text = ascii_text(text);
  return context.text(String(std::move(text), value.has_input()));
}

// One call of str.format().
class Formatter {
 public:
  Formatter(Context& context, const String& format, const Arguments& arguments)
      : context_(context), format_(format), arguments_(arguments) {}

  String run() { return fill(0, format_.size(), 2); }

 private:
  char peek(size_t at, size_t end) const { return at < end ? format_.text()[at] : '\0'; }

  String fill(size_t begin, size_t end, int levels) {
    if (levels == 0) context_.fail("Max string recursion exceeded");
    String out;
    for (size_t at = begin; at < end;) {
      const char c = format_.text()[at];
      if (c == '{' && peek(at + 1, end) != '{') {
        const size_t close = field_end(at + 1, end);
        add(out, field(at + 1, close, levels));
        at = close + 1;
      } else if (c == '{' || c == '}') {
        if (peek(at + 1, end) != c) {
          context_.fail("Single '{}' encountered in format string", c);
        }
        out.append_part(format_, at, at + 1);
        at += 2;
      } else {
        size_t stop = at;
        while (stop < end && peek(stop, end) != '{' && peek(stop, end) != '}') ++stop;
        out.append_part(format_, at, stop);
        at = stop;
      }
    }
    return out;
  }

  void add(String& out, const String& part) {
    context_.charge(part.bytes());
    context_.spend_bytes(part.size());
    out.append(part);
  }

  // Where the brace that closes a field stands; braces nest, but not inside [].
  size_t field_end(size_t at, size_t end) const {
    int depth = 1;
    bool bracket = false;
    for (; at < end; ++at) {
      const char c = peek(at, end);
      if (bracket) {
        bracket = c != ']';
      } else if (c == '[' && depth == 1) {
        bracket = true;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        return at;
      }
    }
    context_.fail("expected '}}' before end of string");
  }

  String field(size_t begin, size_t end, int levels) {
    size_t at = begin;
    bool bracket = false;
    while (at < end && (bracket || (peek(at, end) != '!' && peek(at, end) != ':'))) {
      if (peek(at, end) == '[') bracket = true;
      if (peek(at, end) == ']') bracket = false;
      ++at;
    }
    Value value = lookup(std::string_view(format_.text()).substr(begin, at - begin));
    char conversion = '\0';
    if (peek(at, end) == '!') {
      conversion = peek(at + 1, end);
      at += 2;
      if (at < end && peek(at, end) != ':')
        context_.fail("expected ':' after conversion specifier");
      if (conversion == '\0') context_.fail("unmatched '{{' in format spec");
      if (std::string_view("sra").find(conversion) == std::string_view::npos) {
        context_.fail("Unknown conversion specifier {}",
                      printable(std::string_view(&conversion, 1)));
      }
      value = converted(context_, value, conversion);
    }
    const String spec = at < end ? fill(at + 1, end, levels - 1) : String();
    return format_.is_markup() ? escaped(value, spec) : format_value(context_, value, spec.text());
  }

  String escaped(const Value& value, const String& spec) {
    if (value.string() && value.string()->is_markup()) {
      if (!spec.empty()) {
        context_.fail("Format specifier {} given, but Markup does not define __html_format__.",
                      printable(spec.text()));
      }
      return *value.string();
    }
    return escape_text(context_, format_value(context_, value, spec.text()));
  }

  // "name", "0", "" and what follows: ".attribute" and "[item]".
  Value lookup(std::string_view path) {
    const size_t stop = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, stop));
    path.remove_prefix(stop);
    while (!path.empty()) {
      context_.spend();
      const bool item = path[0] == '[';
      if (!item && path[0] != '.') {
        context_.fail("Only '.' or '[' may follow ']' in format field specifier");
      }
      const size_t end = item ? path.find(']') : std::min(path.find_first_of(".[", 1), path.size());
      if (end == std::string_view::npos) context_.fail("Missing ']' in format string");
      const std::string_view name = path.substr(1, end - 1);
      if (name.empty()) context_.fail("Empty attribute in format string");
      value =
          item ? get_item(context_, value, item_key(name)) : get_attribute(context_, value, name);
      path.remove_prefix(item ? end + 1 : end);
    }
    return value;
  }

  static bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  Value item_key(std::string_view name) {
    if (!is_number(name)) return context_.text(name);
    const auto number = parse_int(name, 10);
    if (!number) context_.fail("Too many decimal digits in format string");
    return Value(*number, false);
  }

  Value argument(std::string_view name) {
    const bool counted = name.empty();
    if (counted || is_number(name)) {
      if (numbering_ != '\0' && numbering_ != (counted ? 'a' : 'm')) {
        context_.fail("cannot switch from {} to {}",
                      counted ? "manual field specification" : "automatic field numbering",
                      counted ? "automatic field numbering" : "manual field specification");
      }
      numbering_ = counted ? 'a' : 'm';
      const auto index = counted ? std::optional(next_++) : parse_int(name, 10);
      if (!index || static_cast<size_t>(*index) >= arguments_.positional.size()) {
        context_.fail("Replacement index {} out of range for positional args tuple",
                      index ? fmt::format("{}", *index) : printable(name));
      }
      return arguments_.positional[static_cast<size_t>(*index)];
    }
    for (const auto& [keyword, value] : arguments_.keywords) {
      if (keyword == name) return value;
    }
    context_.fail("'{}'", printable(name));
  }

  Context& context_;
  const String& format_;
  const Arguments& arguments_;
  char numbering_ = '\0';  // automatic or manual, once it is known
  int64_t next_ = 0;
};

// One use of the % operator.
class PercentFormatter {
 public:
  PercentFormatter(Context& context, const String& format, const Value& arguments)
      : context_(context), format_(format), arguments_(arguments) {
    const List* list = arguments.list();
    if (list && list->flavor == Flavor::kTuple) tuple_ = list;
  }

  String run() {
    String out;
    const std::string& text = format_.text();
    for (size_t at = 0; at < text.size();) {
      const size_t stop = std::min(text.find('%', at), text.size());
      out.append_part(format_, at, stop);
      at = stop;
      if (at == text.size()) break;
      at_ = at + 1;
      const String part = conversion();
      context_.charge(part.bytes());
      context_.spend_bytes(part.size());
      out.append(part);
      at = at_;
    }
    const bool all = tuple_ ? taken_ == tuple_->items.size() : taken_ > 0 || is_mapping();
    if (!all) context_.fail("not all arguments converted during string formatting");
    return out;
  }

 private:
  // Whether Python holds the right side for a mapping, of which any part may stay unused.
  bool is_mapping() const {
    return arguments_.dict() || arguments_.is_undefined() ||
           (arguments_.list() && arguments_.list()->flavor != Flavor::kGenerator);
  }

  char peek() const {
    if (at_ >= format_.size()) context_.fail("incomplete format");
    return format_.text()[at_];
  }

  Value next() {
    if (named_) return *named_;
    if (tuple_ ? taken_ >= tuple_->items.size() : taken_ > 0) {
      context_.fail("not enough arguments for format string");
    }
    return tuple_ ? tuple_->items[taken_++] : (++taken_, arguments_);
  }

  void take_name() {
    named_.reset();
    if (peek() != '(') return;
    if (arguments_.is_undefined()) context_.fail_undefined(arguments_);
    if (!arguments_.dict()) context_.fail("format requires a mapping");
    const size_t begin = ++at_;
    for (int depth = 1; depth > 0; ++at_) {
      if (at_ >= format_.size()) context_.fail("incomplete format key");
      if (peek() == '(') ++depth;
      if (peek() == ')') --depth;
    }
    const std::string name = format_.text().substr(begin, at_ - 1 - begin);
    const Value* found = arguments_.dict()->find(hash_key(context_, context_.text(name)));
    if (!found) context_.fail("'{}'", printable(name));
    named_ = *found;
    taken_ = std::max<size_t>(taken_, 1);
  }

  // Digits or a star.
  int64_t take_count(bool& negative) {
    negative = false;
    int64_t count = 0;
    if (peek() == '*') {
      ++at_;
      const Value value = next();
      if (!value.is_int() && !value.is_bool()) context_.fail("* wants int");
      negative = value.as_int() < 0;
      count = std::abs(std::max(value.as_int(), -INT64_MAX));
    } else {
      while (peek() >= '0' && peek() <= '9' && count < INT64_MAX / 20) {
        count = count * 10 + (peek() - '0');
        ++at_;
      }
    }
    if (count > static_cast<int64_t>(Limits::kMemory)) {
      context_.exhausted("columns of a format", Limits::kMemory);
    }
    return count;
  }

  String conversion() {
    take_name();
    FormatSpec spec;
    bool left = false;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-') {
        left = true;
      } else if (c == '+' || (c == ' ' && spec.sign != '+')) {
        spec.sign = c;
      } else if (c == '#') {
        spec.alternate = true;
      } else if (c == '0') {
        spec.zeros = true;
      } else if (c != ' ') {
        break;
      }
    }
    bool negative;
    spec.width = take_count(negative);
    left = left || negative;
    if (peek() == '.') {
      ++at_;
      spec.precision = take_count(negative);
      if (negative) spec.precision = 0;
    }
    if (peek() == 'h' || peek() == 'l' || peek() == 'L') ++at_;
    spec.type = peek();
    ++at_;
    if (left) spec.zeros = false;
    return pad_text(context_, convert(spec), spec.width, String(" "), left ? '<' : '>');
  }

  String convert(FormatSpec& spec) {
    switch (spec.type) {
      case '%':
        spec.width = 0;
        return String("%");
      case 's':
      case 'r':
      case 'a':
        return cut(text_of(next(), spec.type), spec.precision);
      case 'c':
        return character(next());
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return integer(next(), spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        const Value value = next();
        if (value.is_undefined()) context_.fail_undefined(value);
        if (!value.is_number()) {
          context_.fail("must be real number, not {}", value.type_name());
        }
        return String(format_float(context_, value.as_float(), spec), value.has_input());
      }
      default:
        context_.fail("unsupported format character '{}' ({:#x}) at index {}",
                      printable(std::string_view(&spec.type, 1)),
                      static_cast<unsigned char>(spec.type),
                      character_count(std::string_view(format_.text()).substr(0, at_ - 1)));
    }
  }

  String text_of(const Value& value, char how) {
    if (how == 's' && value.string() && value.string()->is_markup()) return *value.string();
    const Value text = converted(context_, value, how);
    return format_.is_markup() ? escape_text(context_, *text.string()) : *text.string();
  }

  String character(const Value& value) {
    if (const String* text = value.string()) {
      if (character_count(text->text()) == 1) return *text;
    } else if (value.is_int() || value.is_bool()) {
      const int64_t code = value.as_int();
      if (code < 0 || code > 0x10ffff) context_.fail("%c arg not in range(0x110000)");
      return String(encode_utf8(static_cast<uint32_t>(code)), value.has_input());
    }
    context_.fail("%c requires int or char");
  }

  String integer(const Value& value, const FormatSpec& written) {
    FormatSpec spec = written;
    const bool decimal = std::string_view("diu").find(spec.type) != std::string_view::npos;
    if (value.is_undefined()) context_.fail_undefined(value);
    if (!value.is_number() || (!decimal && value.is_float())) {
      context_.fail("%{} format: {} is required, not {}", spec.type,
                    decimal ? "a real number" : "an integer", value.type_name());
    }
    const double number = value.is_float() ? std::trunc(value.as_float()) : 0;
    if (std::isnan(number)) context_.fail("cannot convert float NaN to integer");
    if (std::isinf(number)) context_.fail("cannot convert float infinity to integer");
    if (std::abs(number) >= 9.2e18) {
      context_.unsupported("an integer that does not fit in 64 bits");
    }
    const int64_t whole = value.is_float() ? static_cast<int64_t>(number) : value.as_int();
    if (decimal) spec.type = 'd';
    // A precision is the least number of digits.
    const int64_t digits = std::exchange(spec.precision, -1);
    if (digits > 0) {
      FormatSpec bare;
      bare.type = spec.type;
      const std::string plain = format_integer(context_, whole, bare);
      const int64_t now = static_cast<int64_t>(plain.size()) - (whole < 0 ? 1 : 0);
      const bool prefixed = spec.alternate && !decimal;
      const bool is_signed = whole < 0 || spec.sign != '-';
      const int64_t least = std::max(digits, now) + (prefixed ? 2 : 0) + (is_signed ? 1 : 0);
      spec.width = spec.zeros ? std::max(spec.width, least) : least;
      spec.zeros = true;
    }
    return String(format_integer(context_, whole, spec), value.has_input());
  }

  Context& context_;
  const String& format_;
  const Value& arguments_;
  const List* tuple_ = nullptr;
  size_t taken_ = 0;
  size_t at_ = 0;
  std::optional<Value> named_;
};

}  // namespace

String format_text(Context& context, const String& format, const Arguments& arguments) {
  context.spend_bytes(8 * format.size());
  String out = Formatter(context, format, arguments).run();
  return format.is_markup() ? markup(std::move(out)) : out;
}

String format_percent(Context& context, const String& format, const Value& arguments) {
  context.spend_bytes(8 * format.size());
  String out = PercentFormatter(context, format, arguments).run();
  return format.is_markup() ? markup(std::move(out)) : out;
}

}  // namespace adze::text::chat
