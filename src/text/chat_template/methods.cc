// Methods of str, list, dict and the loop variable.
#include <algorithm>
#include <span>

#include "text/chat_template/builtins.h"
#include "text/chat_template/formatting.h"
#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"
#include "text/chat_template/text_methods.h"

namespace adze::text::chat {

namespace {

bool is_stripped(std::string_view character, const String* characters) {
  if (!characters) return is_python_space(first_character(character).codepoint);
  return characters->text().find(character) != std::string::npos;
}

// Where the character that ends at `end`, not 0, begins.
size_t previous_character(std::string_view text, size_t end) {
  for (size_t length = std::min<size_t>(end, 4); length > 1; --length) {
    const Character character = first_character(text.substr(end - length, length));
    if (character.codepoint >= 0 && character.length == length) return end - length;
  }
  return end - 1;
}

size_t find(std::string_view text, std::string_view needle, size_t from) {
  const std::string_view rest = text.substr(from);
  const void* found = memmem(rest.data(), rest.size(), needle.data(), needle.size());
  if (!found) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace

String markup(String text) {
  text.set_markup(true);
  return text;
}

Value text_like(Context& context, const String& model, String text) {
  text.set_markup(model.is_markup());
  return context.text(std::move(text));
}

String escape_text(Context& context, const String& text) {
  static constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
  if (text.is_markup()) return text;
  context.spend_bytes(8 * text.size());
  String out;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto* const found =
        std::find_if(std::begin(kEscapes), std::end(kEscapes),
                     [&](const auto& escape) { return escape.first == text.text()[at]; });
    if (found == std::end(kEscapes)) {
      out.append_part(text, at, at + 1);
    } else {
      out.append(found->second, text.has_input(at, at + 1));
    }
  }
  return markup(std::move(out));
}

Value strip_text(Context& context, const String& text, const String* characters, bool left,
                 bool right) {
  context.spend_bytes(8 * text.size() * (characters ? 1 + characters->size() / 16 : 1));
  const std::string_view bytes = text.text();
  size_t begin = 0;
  size_t end = bytes.size();
  while (left && begin < end) {
    const size_t length = first_character(bytes.substr(begin)).length;
    if (!is_stripped(bytes.substr(begin, length), characters)) break;
    begin += length;
  }
  while (right && end > begin) {
    const size_t start = previous_character(bytes, end);
    if (!is_stripped(bytes.substr(start, end - start), characters)) break;
    end = start;
  }
  return text_like(context, text, text.part(begin, end));
}

String replace_text(Context& context, const String& text, const String& from, const String& to,
                    int64_t count) {
  context.spend_bytes(text.size());
  const std::string_view bytes = text.text();
  String out;
  size_t copied = 0;
  size_t search = 0;
  for (int64_t done = 0; count < 0 || done < count; ++done) {
    const size_t found =
        search <= bytes.size() ? find(bytes, from.text(), search) : std::string_view::npos;
    if (found == std::string_view::npos) break;
    out.append_part(text, copied, found);
    out.append(to);
    context.bound(out);
    copied = found + from.size();
    search = copied;
    if (from.empty()) {
      search += found < bytes.size() ? first_character(bytes.substr(found)).length : 1;
    }
  }
  out.append_part(text, copied, text.size());
  return out;
}

namespace {

bool is_line_end(int32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

std::vector<Line> find_lines(Context& context, std::string_view text) {
  context.spend_bytes(8 * text.size());
  std::vector<Line> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    size_t next = at + character.length;
    if (is_line_end(character.codepoint)) {
      if (text.substr(at).starts_with("\r\n")) ++next;
      context.charge(sizeof(Line));
      lines.push_back({begin, at, next});
      begin = next;
    }
    at = next;
  }
  if (begin < text.size()) lines.push_back({begin, text.size(), text.size()});
  return lines;
}

namespace {

const String& self_text(Call& call) { return *call.self.string(); }

Value strip_with(Call& call, bool left, bool right) {
  const bool all = !call.has(0) || call[0].is_none();
  return strip_text(call.context, self_text(call),
                    all ? nullptr : &to_text(call.context, call[0], "chars"), left, right);
}
Value strip(Call& call) { return strip_with(call, true, true); }
Value strip_left(Call& call) { return strip_with(call, true, false); }
Value strip_right(Call& call) { return strip_with(call, false, true); }

Value cased(Call& call, Case to) {
  call.context.spend_bytes(8 * self_text(call).size());
  return text_like(call.context, self_text(call), change_case(self_text(call), to));
}
Value upper(Call& call) { return cased(call, Case::kUpper); }
Value lower(Call& call) { return cased(call, Case::kLower); }
Value title(Call& call) { return cased(call, Case::kTitle); }
Value capitalize(Call& call) { return cased(call, Case::kCapitalize); }

Value replace(Call& call) {
  Context& context = call.context;
  const int64_t count = call.has(2) ? to_index(context, call[2], "count") : -1;
  const String& text = self_text(call);
  String to = to_text(context, call[1], "new");
  if (text.is_markup()) to = escape_text(context, to);
  return text_like(context, text,
                   replace_text(context, text, to_text(context, call[0], "old"), to, count));
}

// Parts as byte ranges, first to last, of splitting at `separator`, at most `limit` times. Each is
// a step of the budget as it is found.
using Parts = std::vector<std::pair<size_t, size_t>>;

Parts split_at(Context& context, std::string_view text, std::string_view separator, int64_t limit) {
  Parts parts;
  size_t begin = 0;
  for (int64_t done = 0; limit < 0 || done < limit; ++done) {
    const size_t found = find(text, separator, begin);
    if (found == std::string_view::npos) break;
    context.spend();
    parts.emplace_back(begin, found);
    begin = found + separator.size();
  }
  parts.emplace_back(begin, text.size());
  return parts;
}

Parts split_at_right(Context& context, std::string_view text, std::string_view separator,
                     int64_t limit) {
  Parts parts;
  size_t end = text.size();
  for (int64_t done = 0; limit < 0 || done < limit; ++done) {
    const size_t found = text.substr(0, end).rfind(separator);
    if (found == std::string_view::npos) break;
    context.spend();
    parts.emplace_back(found + separator.size(), end);
    end = found;
  }
  parts.emplace_back(0, end);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

size_t skip(std::string_view text, size_t at, bool space) {
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    if (is_python_space(character.codepoint) != space) break;
    at += character.length;
  }
  return at;
}

size_t skip_back(std::string_view text, size_t end, bool space) {
  while (end > 0) {
    const size_t start = previous_character(text, end);
    if (is_python_space(first_character(text.substr(start)).codepoint) != space) break;
    end = start;
  }
  return end;
}

Parts split_at_space(Context& context, std::string_view text, int64_t limit) {
  Parts parts;
  size_t begin = skip(text, 0, true);
  for (int64_t done = 0; begin < text.size(); ++done) {
    if (limit >= 0 && done == limit) {
      parts.emplace_back(begin, text.size());
      break;
    }
    context.spend();
    const size_t end = skip(text, begin, false);
    parts.emplace_back(begin, end);
    begin = skip(text, end, true);
  }
  return parts;
}

Parts split_at_space_right(Context& context, std::string_view text, int64_t limit) {
  Parts parts;
  size_t end = skip_back(text, text.size(), true);
  for (int64_t done = 0; end > 0; ++done) {
    if (limit >= 0 && done == limit) {
      parts.emplace_back(0, end);
      break;
    }
    context.spend();
    const size_t begin = skip_back(text, end, false);
    parts.emplace_back(begin, end);
    end = skip_back(text, begin, true);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Value make_parts(Call& call, const Parts& parts) {
  std::vector<Value> items;
  for (const auto& [begin, end] : parts) {
    items.push_back(text_like(call.context, self_text(call), self_text(call).part(begin, end)));
  }
  return call.context.list(std::move(items));
}

Value split_from(Call& call, bool right) {
  const std::string_view text = self_text(call).text();
  const int64_t limit = call.has(1) ? to_index(call.context, call[1], "maxsplit") : -1;
  call.context.spend_bytes(8 * text.size());
  if (!call.has(0) || call[0].is_none()) {
    return make_parts(call, right ? split_at_space_right(call.context, text, limit)
                                  : split_at_space(call.context, text, limit));
  }
  const std::string& separator = to_text(call.context, call[0], "sep").text();
  if (separator.empty()) call.context.fail("empty separator");
  if (right) call.context.spend(1 + text.size() / 1024 * separator.size());
  return make_parts(call, right ? split_at_right(call.context, text, separator, limit)
                                : split_at(call.context, text, separator, limit));
}
Value split(Call& call) { return split_from(call, false); }
Value split_right(Call& call) { return split_from(call, true); }

Value split_lines(Call& call) {
  const bool keep = call.has(0) && truth(call[0]);
  Parts parts;
  for (const Line& line : find_lines(call.context, self_text(call).text())) {
    parts.emplace_back(line.begin, keep ? line.next : line.end);
  }
  return make_parts(call, parts);
}

bool starts(std::string_view text, std::string_view affix) { return text.starts_with(affix); }
bool ends(std::string_view text, std::string_view affix) { return text.ends_with(affix); }

// Bytes [begin, end) of what `start` and `end`, parameters `first` and `first` + 1, leave of the
// text; nothing where `start` lies behind its end.
std::optional<std::pair<size_t, size_t>> bounded(Call& call, size_t first) {
  const std::string_view text = self_text(call).text();
  if (!call.has(first) && !call.has(first + 1)) return std::pair{size_t{0}, text.size()};
  call.context.spend_bytes(8 * text.size());
  const auto count = static_cast<int64_t>(character_count(text));
  const auto place = [&](size_t i, int64_t missing) {
    if (!call.has(i) || call[i].is_none()) return missing;
    const int64_t index = to_index(call.context, call[i], "slice indices");
    return index < 0 ? std::max(index, -count) + count : index;
  };
  const int64_t begin = place(first, 0);
  const int64_t end = std::min(place(first + 1, count), count);
  if (begin > end) return std::nullopt;
  return std::pair{character_offset(text, static_cast<size_t>(begin)),
                   character_offset(text, static_cast<size_t>(end))};
}

// Whether it starts or ends with the argument or, a tuple, with one of its items.
Value has_affix(Call& call, bool (*matches)(std::string_view, std::string_view)) {
  const auto part = bounded(call, 1);
  const std::string_view text =
      part
          ? std::string_view(self_text(call).text()).substr(part->first, part->second - part->first)
          : "";
  const List* choices = call[0].list();
  const bool several = choices && is_tuple(*choices);
  const std::span<const Value> affixes =
      several ? std::span(choices->items) : std::span(&call[0], 1);
  for (const Value& choice : affixes) {
    if (!choice.string()) {
      const std::string_view name = matches == ends ? "endswith" : "startswith";
      if (several) {
        call.context.fail("tuple for {} must only contain str, not {}", name, choice.type_name());
      }
      call.context.fail("{} first arg must be str or a tuple of str, not {}", name,
                        choice.type_name());
    }
    const std::string& affix = choice.string()->text();
    call.context.spend_bytes(affix.size());
    if (part && matches(text, affix)) return Value::boolean(true);
  }
  return Value::boolean(false);
}
Value starts_with(Call& call) { return has_affix(call, starts); }
Value ends_with(Call& call) { return has_affix(call, ends); }

Value remove_prefix(Call& call) {
  const String& text = self_text(call);
  const std::string& affix = to_text(call.context, call[0], "the argument").text();
  const size_t begin = starts(text.text(), affix) ? affix.size() : 0;
  return text_like(call.context, text, text.part(begin, text.size()));
}
Value remove_suffix(Call& call) {
  const String& text = self_text(call);
  const std::string& affix = to_text(call.context, call[0], "the argument").text();
  const size_t end = text.size() - (ends(text.text(), affix) ? affix.size() : 0);
  return text_like(call.context, text, text.part(0, end));
}

Value find_in(Call& call, bool right) {
  const std::string_view text = self_text(call).text();
  const std::string& needle = to_text(call.context, call[0], "the argument").text();
  const auto part = bounded(call, 1);
  if (!part) return Value(int64_t{-1}, false);
  call.context.spend_bytes(text.size() * (right ? 1 + needle.size() / 16 : 1));
  const std::string_view within = text.substr(0, part->second);
  size_t found = right ? within.rfind(needle) : find(within, needle, part->first);
  if (found == std::string_view::npos || found < part->first) return Value(int64_t{-1}, false);
  return Value::integer(character_count(text.substr(0, found)));
}
Value find_first(Call& call) { return find_in(call, false); }
Value find_last(Call& call) { return find_in(call, true); }
Value index_in(Call& call, bool right) {
  Value found = find_in(call, right);
  if (found.as_int() < 0) call.context.fail("substring not found");
  return found;
}
Value index_of(Call& call) { return index_in(call, false); }
Value last_index_of(Call& call) { return index_in(call, true); }

Value count_text(Call& call) {
  const std::string& needle = to_text(call.context, call[0], "the argument").text();
  const auto part = bounded(call, 1);
  if (!part) return Value(int64_t{0}, false);
  const std::string_view text =
      std::string_view(self_text(call).text()).substr(part->first, part->second - part->first);
  call.context.spend_bytes(text.size());
  if (needle.empty()) return Value::integer(character_count(text) + 1);
  size_t count = 0;
  for (size_t at = find(text, needle, 0); at != std::string_view::npos;
       at = find(text, needle, at + needle.size())) {
    ++count;
  }
  return Value::integer(count);
}

Value partition_from(Call& call, bool right) {
  Context& context = call.context;
  const String& text = self_text(call);
  const std::string& separator = to_text(context, call[0], "sep").text();
  if (separator.empty()) context.fail("empty separator");
  context.spend_bytes(text.size() * (right ? 1 + separator.size() / 16 : 1));
  const std::string_view bytes = text.text();
  const size_t found = right ? bytes.rfind(separator) : find(bytes, separator, 0);
  size_t first = found;
  size_t second = found + separator.size();
  if (found == std::string_view::npos) first = second = right ? 0 : bytes.size();
  return context.list({text_like(context, text, text.part(0, first)),
                       text_like(context, text, text.part(first, second)),
                       text_like(context, text, text.part(second, bytes.size()))},
                      Flavor::kTuple);
}
Value partition(Call& call) { return partition_from(call, false); }
Value partition_right(Call& call) { return partition_from(call, true); }

Value justify(Call& call, char align) {
  Context& context = call.context;
  const String& text = self_text(call);
  const int64_t width = to_index(context, call[0], "width");
  String fill = call.has(1) ? to_text(context, call[1], "fillchar") : String(" ");
  if (text.is_markup()) fill = escape_text(context, fill);
  if (character_count(fill.text()) != 1) {
    context.fail("The fill character must be exactly one character long");
  }
  return text_like(context, text, pad_text(context, text, width, fill, align));
}
Value justify_left(Call& call) { return justify(call, '<'); }
Value justify_right(Call& call) { return justify(call, '>'); }
Value center(Call& call) { return justify(call, 'c'); }

Value fill_zeros(Call& call) {
  Context& context = call.context;
  const String& text = self_text(call);
  const bool is_signed = text.text().starts_with('+') || text.text().starts_with('-');
  const size_t sign = is_signed ? 1 : 0;
  const int64_t width = to_index(context, call[0], "width");
  String out = text.part(0, sign);
  out.append(pad_text(context, text.part(sign, text.size()),
                      std::max(width, INT64_MIN + 1) - static_cast<int64_t>(sign), String("0"),
                      '>'));
  return text_like(context, text, std::move(out));
}

Value format(Call& call) {
  return call.context.text(format_text(call.context, self_text(call), call.raw));
}
Value format_map(Call& call) {
  Arguments arguments;
  if (!call[0].dict()) call.context.fail("format_map() needs a mapping");
  for (const auto& [key, value] : call[0].dict()->entries) {
    if (key.string()) arguments.keywords.emplace_back(key.string()->text(), value);
  }
  return call.context.text(format_text(call.context, self_text(call), arguments));
}

Value join(Call& call) {
  if (call[0].is_undefined()) return call.context.text("");
  String out;
  bool is_first = true;
  for (const Value& item : iterate(call.context, call[0])) {
    call.context.spend();
    if (!is_first) {
      call.context.spend_bytes(self_text(call).size());
      out.append(self_text(call));
    }
    out.append(self_text(call).is_markup()
                   ? escape_text(call.context, to_string(call.context, item))
                   : to_text(call.context, item, "a sequence item"));
    call.context.bound(out);
    is_first = false;
  }
  return text_like(call.context, self_text(call), std::move(out));
}

template <bool (*check)(int32_t)>
Value every(Call& call) {
  const std::string_view text = self_text(call).text();
  call.context.spend_bytes(8 * text.size());
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (character.codepoint < 0 || !check(character.codepoint)) return Value::boolean(false);
    at += character.length;
  }
  return Value::boolean(!text.empty());
}

Value get(Call& call) {
  const Value* found = call.self.dict()->find(hash_key(call.context, call[0]));
  if (found) return *found;
  return call.has(1) ? call[1] : Value();
}

Value dict_view(Call& call, Flavor flavor) {
  std::vector<Value> items;
  for (const auto& [key, value] : call.self.dict()->entries) {
    call.context.spend();
    items.push_back(flavor == Flavor::kKeys     ? key
                    : flavor == Flavor::kValues ? value
                                                : call.context.list({key, value}, Flavor::kTuple));
  }
  return call.context.list(std::move(items), flavor);
}
Value keys(Call& call) { return dict_view(call, Flavor::kKeys); }
Value values(Call& call) { return dict_view(call, Flavor::kValues); }
Value items(Call& call) { return dict_view(call, Flavor::kItems); }
Value copy(Call& call) { return call.self; }

Value list_count(Call& call) {
  size_t count = 0;
  for (const Value& item : call.self.list()->items) count += equal(call.context, item, call[0]);
  return Value::integer(count);
}

Value list_index(Call& call) {
  const std::vector<Value>& items = call.self.list()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal(call.context, items[i], call[0])) return Value::integer(i);
  }
  call.context.fail("{} is not in list", representation(call.context, call[0]));
}

Value cycle(Call& call) {
  const std::vector<Value>& choices = call.raw.positional;
  if (choices.empty()) call.context.fail("no items for cycling given");
  return choices[call.self.loop()->index % choices.size()];
}

bool holds_loop(Context& context, const Value& value) {
  context.spend();
  const auto inside = [&](const Value& item) { return holds_loop(context, item); };
  if (const List* list = value.list()) {
    return std::any_of(list->items.begin(), list->items.end(), inside);
  }
  if (const Dict* dict = value.dict()) {
    return std::any_of(dict->entries.begin(), dict->entries.end(), [&](const Pair& entry) {
      return inside(entry.first) || inside(entry.second);
    });
  }
  return value.loop() || (value.method() && inside(value.method()->self));
}

Value changed(Call& call) {
  for (const Value& argument : call.raw.positional) {
    // A loop that remembers itself would never be freed.
    if (holds_loop(call.context, argument)) call.context.unsupported("loop.changed() of a loop");
  }
  auto& last = call.self.loop()->last_changed;
  const std::vector<Value>& now = call.raw.positional;
  const bool same =
      last && last->size() == now.size() &&
      std::equal(now.begin(), now.end(), last->begin(),
                 [&](const Value& a, const Value& b) { return equal(call.context, a, b); });
  if (!same) last = now;
  return Value::boolean(!same);
}

constexpr auto kTextRows = std::to_array<Builtin>({
    {"strip", {"chars"}, 0, strip},
    {"lstrip", {"chars"}, 0, strip_left},
    {"rstrip", {"chars"}, 0, strip_right},
    {"upper", {}, 0, upper},
    {"lower", {}, 0, lower},
    {"title", {}, 0, title},
    {"capitalize", {}, 0, capitalize},
    {"replace", {"old", "new", "count"}, 2, replace},
    {"split", {"sep", "maxsplit"}, 0, split},
    {"rsplit", {"sep", "maxsplit"}, 0, split_right},
    {"splitlines", {"keepends"}, 0, split_lines},
    {"startswith", {"prefix", "start", "end"}, 1, starts_with},
    {"endswith", {"suffix", "start", "end"}, 1, ends_with},
    {"removeprefix", {"prefix"}, 1, remove_prefix},
    {"removesuffix", {"suffix"}, 1, remove_suffix},
    {"find", {"sub", "start", "end"}, 1, find_first},
    {"rfind", {"sub", "start", "end"}, 1, find_last},
    {"index", {"sub", "start", "end"}, 1, index_of},
    {"count", {"sub", "start", "end"}, 1, count_text},
    {"rindex", {"sub", "start", "end"}, 1, last_index_of},
    {"partition", {"sep"}, 1, partition},
    {"rpartition", {"sep"}, 1, partition_right},
    {"ljust", {"width", "fillchar"}, 1, justify_left},
    {"rjust", {"width", "fillchar"}, 1, justify_right},
    {"center", {"width", "fillchar"}, 1, center},
    {"zfill", {"width"}, 1, fill_zeros},
    {"format", {}, 0, format, true},
    {"format_map", {"mapping"}, 1, format_map},
    {"join", {"iterable"}, 1, join},
    {"isdecimal", {}, 0, every<is_decimal>},
    {"isdigit", {}, 0, every<is_digit>},
    {"isalpha", {}, 0, every<is_letter>},
    {"isalnum", {}, 0, every<is_letter_or_digit>},
    {"isspace", {}, 0, every<is_python_space>},
});
constexpr auto kDictRows = std::to_array<Builtin>({
    {"get", {"key", "default"}, 1, get},
    {"keys", {}, 0, keys},
    {"values", {}, 0, values},
    {"items", {}, 0, items},
    {"copy", {}, 0, copy},
});
constexpr auto kListRows = std::to_array<Builtin>({
    {"count", {"value"}, 1, list_count},
    {"index", {"value"}, 1, list_index},
    {"copy", {}, 0, copy},
});
constexpr auto kRangeRows = std::to_array<Builtin>({
    {"count", {"value"}, 1, list_count},
    {"index", {"value"}, 1, list_index},
});
constexpr auto kLoopRows = std::to_array<Builtin>({
    {"cycle", {}, 0, cycle, true},
    {"changed", {}, 0, changed, true},
});

bool is_sequence(const Value& value) {
  const List* list = value.list();
  return list && (list->flavor == Flavor::kList || is_tuple(*list));
}

}  // namespace

const Builtin* find_method(const Value& self, std::string_view name) {
  if (self.string()) return find_row(kTextRows, name);
  if (self.dict()) return find_row(kDictRows, name);
  if (self.loop()) return find_row(kLoopRows, name);
  if (self.list() && self.list()->flavor == Flavor::kRange) return find_row(kRangeRows, name);
  if (is_sequence(self)) {
    const Builtin* row = find_row(kListRows, name);
    return row && name == "copy" && is_tuple(*self.list()) ? nullptr : row;
  }
  return nullptr;
}

bool is_forbidden_method(const Value& self, std::string_view name) {
  static constexpr std::string_view kList[] = {"append", "clear",  "extend",  "insert",
                                               "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view kDict[] = {"clear",   "fromkeys",   "pop",
                                               "popitem", "setdefault", "update"};
  const auto has = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (self.dict()) return has(kDict);
  return self.list() && self.list()->flavor == Flavor::kList && has(kList);
}

bool is_missing_method(const Value& self, std::string_view name) {
  static constexpr std::string_view kText[] = {
      "casefold",    "encode",  "expandtabs", "isascii",   "isidentifier", "islower",  "isnumeric",
      "isprintable", "istitle", "isupper",    "maketrans", "swapcase",     "translate"};
  return self.string() && std::find(std::begin(kText), std::end(kText), name) != std::end(kText);
}

}  // namespace adze::text::chat
