// Filters that make text or numbers.
#include <cmath>

#include "text/chat_template/builtins.h"
#include "text/chat_template/formatting.h"
#include "text/chat_template/json.h"
#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"
#include "text/chat_template/text_methods.h"

namespace adze::text::chat {
namespace {

Value cased(Call& call, Case to) {
  const String text = to_string(call.context, call.self);
  call.context.spend_bytes(8 * text.size());
  return text_like(call.context, text, change_case(text, to));
}
Value upper(Call& call) { return cased(call, Case::kUpper); }
Value lower(Call& call) { return cased(call, Case::kLower); }
Value capitalize(Call& call) { return cased(call, Case::kCapitalize); }

// Jinja's own: a word begins behind whitespace, a hyphen or an opening bracket.
Value title(Call& call) {
  static constexpr std::string_view kBefore = "-({[<";
  const String text = to_string(call.context, call.self);
  call.context.spend_bytes(8 * text.size());
  String out;
  size_t begin = 0;
  bool in_word = false;
  const auto add_word = [&](size_t end) {
    const String word = text.part(begin, end);
    const size_t first = word.empty() ? 0 : first_character(word.text()).length;
    out.append(change_case(word.part(0, first), Case::kUpper));
    out.append(change_case(word.part(first, word.size()), Case::kLower));
    begin = end;
  };
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(std::string_view(text.text()).substr(at));
    const bool separator = is_python_space(character.codepoint) ||
                           kBefore.find(text.text()[at]) != std::string_view::npos;
    if (separator == in_word) add_word(at);
    in_word = !separator;
    at += character.length;
  }
  add_word(text.size());
  return call.context.text(std::move(out));
}

Value trim(Call& call) {
  const String text = to_string(call.context, call.self);
  const bool all = !call.has(0) || call[0].is_none();
  return strip_text(call.context, text, all ? nullptr : &to_text(call.context, call[0], "chars"),
                    true, true);
}

Value replace(Call& call) {
  const int64_t count =
      call.has(2) && !call[2].is_none() ? to_index(call.context, call[2], "count") : -1;
  return call.context.text(replace_text(call.context, to_string(call.context, call.self),
                                        to_string(call.context, call[0]),
                                        to_string(call.context, call[1]), count));
}

Value string(Call& call) {
  return call.self.string() ? call.self : call.context.text(to_string(call.context, call.self));
}
Value safe(Call& call) { return call.context.text(markup(to_string(call.context, call.self))); }

Value escape(Call& call) {
  return call.context.text(escape_text(call.context, to_string(call.context, call.self)));
}
Value force_escape(Call& call) {
  String text = to_string(call.context, call.self);
  text.set_markup(false);
  return call.context.text(escape_text(call.context, text));
}

Value center(Call& call) {
  const int64_t width = call.has(0) ? to_index(call.context, call[0], "width") : 80;
  const String text = to_string(call.context, call.self);
  return text_like(call.context, text, pad_text(call.context, text, width, String(" "), 'c'));
}

Value format(Call& call) {
  const Arguments& raw = call.raw;
  if (!raw.positional.empty() && !raw.keywords.empty()) {
    call.context.fail("can't handle positional and keyword arguments at the same time");
  }
  Value values = call.context.list(raw.positional, Flavor::kTuple);
  if (!raw.keywords.empty()) values = keyword_dict(call.context, raw);
  return call.context.text(
      format_percent(call.context, to_string(call.context, call.self), values));
}

Value word_count(Call& call) {
  const String text = to_string(call.context, call.self);
  call.context.spend_bytes(8 * text.size());
  size_t count = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const Character c = first_character(std::string_view(text.text()).substr(at));
    const bool word = is_word(c.codepoint);
    if (word && !in_word) ++count;
    in_word = word;
    at += c.length;
  }
  return Value::integer(count);
}

Value truncate(Call& call) {
  Context& context = call.context;
  const int64_t length = call.has(0) ? to_index(context, call[0], "length") : 255;
  const bool kill_words = call.has(1) && truth(call[1]);
  const String end = call.has(2) ? to_text(context, call[2], "end") : String("...");
  const int64_t leeway =
      call.has(3) && !call[3].is_none() ? to_index(context, call[3], "leeway") : 5;
  const auto end_size = static_cast<int64_t>(character_count(end.text()));
  if (length < end_size) context.fail("expected length >= {}, got {}", end_size, length);
  if (leeway < 0) context.fail("expected leeway >= 0, got {}", leeway);
  if (!call.self.string()) {
    const auto items = static_cast<int64_t>(adze::text::chat::length(context, call.self));
    if (items <= length + std::min(leeway, items)) return call.self;
  }
  const String text = to_text(context, call.self, "the text to truncate");
  context.spend_bytes(8 * text.size());
  const auto size = static_cast<int64_t>(character_count(text.text()));
  if (size <= length + std::min(leeway, size)) return call.self;
  size_t cut = character_offset(text.text(), static_cast<size_t>(length - end_size));
  const size_t space = text.text().substr(0, cut).rfind(' ');
  if (!kill_words && space != std::string::npos) cut = space;
  String out = text.part(0, cut);
  out.append(end);
  return text_like(context, text, std::move(out));
}

Value indent(Call& call) {
  Context& context = call.context;
  const String text = to_text(context, call.self, "the text to indent");
  String margin(std::string(4, ' '));
  if (call.has(0) && call[0].string()) {
    margin = *call[0].string();
  } else if (call.has(0)) {
    const int64_t width = to_index(context, call[0], "width");
    if (width > Limits::kRange) context.exhausted("columns of indent()", Limits::kRange);
    margin = String(std::string(width > 0 ? static_cast<size_t>(width) : 0, ' '));
  }
  const bool first = call.has(1) && truth(call[1]);
  const bool blank = call.has(2) && truth(call[2]);
  std::vector<Line> lines = find_lines(context, text.text());
  // Jinja splits the text with a newline added, so that one at its end is kept.
  const bool ends_line = !lines.empty() && lines.back().end < lines.back().next;
  if (lines.empty() || (ends_line && !text.text().ends_with('\r'))) {
    lines.push_back({text.size(), text.size(), text.size()});
  }
  String out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t begin = lines[i].begin;
    const size_t end = lines[i].end;
    context.spend();
    context.charge(margin.bytes() + end - begin);
    if (i > 0) out.append("\n", text.has_input(lines[i - 1].end, begin));
    if (i == 0 ? first : blank || end > begin) out.append(margin);
    out.append_part(text, begin, end);
  }
  return text_like(context, text, std::move(out));
}

Value to_json_filter(Call& call) {
  Context& context = call.context;
  JsonStyle style;
  style.ensure_ascii = call.has(0) && truth(call[0]);
  if (call.has(1) && !call[1].is_none()) {
    if (call[1].string()) {
      style.indent = call[1].string()->text();
    } else {
      const int64_t width = to_index(context, call[1], "indent");
      if (width > Limits::kRange) context.exhausted("columns of tojson()", Limits::kRange);
      style.indent = std::string(width > 0 ? static_cast<size_t>(width) : 0, ' ');
    }
    style.item_separator = ",";
  }
  if (call.has(2) && !call[2].is_none()) {
    const std::vector<Value> separators = iterate(context, call[2]);
    if (separators.size() != 2) context.fail("tojson needs two separators");
    style.item_separator = to_text(context, separators[0], "a separator").text();
    style.key_separator = to_text(context, separators[1], "a separator").text();
  }
  style.sort_keys = call.has(3) && truth(call[3]);
  return context.text(to_json(context, call.self, style), call.self.has_input());
}

// Without the underscores that Python allows between digits; nothing where one stands elsewhere.
std::optional<std::string> join_digits(std::string_view text) {
  const auto is_part = [&](size_t i) { return i < text.size() && std::isalnum(text[i] & 0x7f); };
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || !is_part(i - 1) || !is_part(i + 1)) {
      return std::nullopt;
    }
  }
  return digits;
}

std::optional<double> parse_float(std::string_view text) {
  const auto digits = join_digits(text);
  if (!digits || digits->empty() || digits->find_first_of("xXpP(") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(digits->c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

std::string stripped_text(Context& context, const String& text) {
  return strip_text(context, text, nullptr, true, true).string()->text();
}

Value fallback(const Call& call, size_t parameter, const Value& value) {
  return call.has(parameter) ? call[parameter] : value;
}

Value to_int(Call& call) {
  Context& context = call.context;
  const bool input = call.self.has_input();
  if (call.self.is_float()) {
    const double number = std::trunc(call.self.as_float());
    if (std::isnan(number)) return fallback(call, 0, Value(int64_t{0}, false));
    if (std::abs(number) >= 9.2e18) context.unsupported("an integer that does not fit in 64 bits");
    return Value(static_cast<int64_t>(number), input);
  }
  if (call.self.is_number()) return Value(call.self.as_int(), input);
  if (call.self.is_undefined()) context.fail_undefined(call.self);
  if (call.self.string()) {
    std::string text = stripped_text(context, *call.self.string());
    if (text.starts_with('+') && !text.starts_with("+-")) text.erase(0, 1);
    const int64_t base = call.has(1) ? to_index(context, call[1], "base") : 10;
    const char prefix = text.size() > 2 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '0';
    const int64_t prefix_base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (prefix_base == base && text[2] != '-') text.erase(0, 2);
    if (base < 2 || base > 36) context.unsupported("int() with base {}", base);
    const auto digits = join_digits(text);
    const auto value = digits ? parse_int(*digits, static_cast<int>(base)) : std::nullopt;
    if (value) return Value(*value, input);
    const auto number = parse_float(text);
    if (number && std::abs(*number) < 9.2e18) return Value(static_cast<int64_t>(*number), input);
  }
  return fallback(call, 0, Value(int64_t{0}, false));
}

Value to_float(Call& call) {
  const bool input = call.self.has_input();
  if (call.self.is_number()) return Value(call.self.as_float(), input);
  if (call.self.is_undefined()) call.context.fail_undefined(call.self);
  if (call.self.string()) {
    const auto number = parse_float(stripped_text(call.context, *call.self.string()));
    if (number) return Value(*number, input);
  }
  return fallback(call, 0, Value(0.0, false));
}

Value absolute(Call& call) {
  if (!call.self.is_number()) {
    call.context.fail("bad operand type for abs(): '{}'", call.self.type_name());
  }
  const bool negative = std::signbit(call.self.as_float());
  return negative ? negate(call.context, call.self) : positive(call.context, call.self);
}

Value round_number(Call& call) {
  Context& context = call.context;
  const int64_t digits = call.has(0) ? to_index(context, call[0], "precision") : 0;
  const std::string method = call.has(1) ? to_text(context, call[1], "method").text() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    context.fail("method must be common, ceil or floor");
  }
  if (call.self.is_undefined() && method != "common") context.fail_undefined(call.self);
  if (!call.self.is_number()) {
    context.fail("type {} doesn't define __round__ method", call.self.type_name());
  }
  if (digits < 0 || digits > 15) context.unsupported("round() to {} digits", digits);
  const double number = call.self.as_float();
  const bool input = call.self.has_input();
  if (method == "common") {
    if (!call.self.is_float()) return positive(context, call.self);
    // Correctly rounded from the decimal expansion, half to even, as round() does.
    const std::string text = fmt::format("{:.{}f}", number, digits);
    return Value(std::strtod(text.c_str(), nullptr), input);
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double whole = method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale);
  return Value((whole == 0 ? 0.0 : whole) / scale, input);  // an integer on the way: no -0.0
}

constexpr auto kRows = std::to_array<Builtin>({
    {"upper", {}, 0, upper},
    {"lower", {}, 0, lower},
    {"capitalize", {}, 0, capitalize},
    {"title", {}, 0, title},
    {"trim", {"chars"}, 0, trim},
    {"replace", {"old", "new", "count"}, 2, replace},
    {"string", {}, 0, string},
    {"safe", {}, 0, safe},
    {"escape", {}, 0, escape},
    {"e", {}, 0, escape},
    {"forceescape", {}, 0, force_escape},
    {"center", {"width"}, 0, center},
    {"format", {}, 0, format, true},
    {"wordcount", {}, 0, word_count},
    {"truncate", {"length", "killwords", "end", "leeway"}, 0, truncate},
    {"indent", {"width", "first", "blank"}, 0, indent},
    {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, 0, to_json_filter},
    {"int", {"default", "base"}, 0, to_int},
    {"float", {"default"}, 0, to_float},
    {"abs", {}, 0, absolute},
    {"round", {"precision", "method"}, 0, round_number},
});

}  // namespace

const Builtin* find_text_filter(std::string_view name) { return find_row(kRows, name); }

}  // namespace adze::text::chat
