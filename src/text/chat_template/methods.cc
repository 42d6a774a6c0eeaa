// Methods of str, list, dict and the loop variable.
#include <algorithm>

#include "text/chat_template/builtins.h"
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

Value strip_text(Context& context, const String& text, const String* characters, bool left,
                 bool right) {
  context.spend_bytes(text.size() * (characters ? 1 + characters->size() / 16 : 1));
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
  return context.text(text.part(begin, end));
}

Value replace_text(Context& context, const String& text, const String& from, const String& to,
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
    if (out.size() > Limits::kMemory) context.exhausted("bytes of values", Limits::kMemory);
    copied = found + from.size();
    search = copied;
    if (from.empty()) {
      search += found < bytes.size() ? first_character(bytes.substr(found)).length : 1;
    }
  }
  out.append_part(text, copied, text.size());
  return context.text(std::move(out));
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
  return call.context.text(change_case(self_text(call), to));
}
Value upper(Call& call) { return cased(call, Case::kUpper); }
Value lower(Call& call) { return cased(call, Case::kLower); }
Value title(Call& call) { return cased(call, Case::kTitle); }
Value capitalize(Call& call) { return cased(call, Case::kCapitalize); }

Value replace(Call& call) {
  const int64_t count = call.has(2) ? to_index(call.context, call[2], "count") : -1;
  return replace_text(call.context, self_text(call), to_text(call.context, call[0], "old"),
                      to_text(call.context, call[1], "new"), count);
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
    items.push_back(call.context.text(self_text(call).part(begin, end)));
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

// Whether it starts or ends with the argument or, a tuple, with one of its items.
Value has_affix(Call& call, bool (*matches)(std::string_view, std::string_view)) {
  const std::string& text = self_text(call).text();
  const List* choices = call[0].list();
  if (!choices || choices->flavor != Flavor::kTuple) {
    const std::string& affix = to_text(call.context, call[0], "the argument").text();
    call.context.spend_bytes(affix.size());
    return Value::boolean(matches(text, affix));
  }
  for (const Value& choice : choices->items) {
    const std::string& affix = to_text(call.context, choice, "the argument").text();
    call.context.spend_bytes(affix.size());
    if (matches(text, affix)) return Value::boolean(true);
  }
  return Value::boolean(false);
}
bool starts(std::string_view text, std::string_view affix) { return text.starts_with(affix); }
bool ends(std::string_view text, std::string_view affix) { return text.ends_with(affix); }
Value starts_with(Call& call) { return has_affix(call, starts); }
Value ends_with(Call& call) { return has_affix(call, ends); }

Value remove_prefix(Call& call) {
  const String& text = self_text(call);
  const std::string& affix = to_text(call.context, call[0], "the argument").text();
  const size_t begin = starts(text.text(), affix) ? affix.size() : 0;
  return call.context.text(text.part(begin, text.size()));
}
Value remove_suffix(Call& call) {
  const String& text = self_text(call);
  const std::string& affix = to_text(call.context, call[0], "the argument").text();
  const size_t end = text.size() - (ends(text.text(), affix) ? affix.size() : 0);
  return call.context.text(text.part(0, end));
}

Value find_in(Call& call, bool right) {
  const std::string_view text = self_text(call).text();
  const std::string& needle = to_text(call.context, call[0], "the argument").text();
  call.context.spend_bytes(text.size() * (right ? 1 + needle.size() / 16 : 1));
  const size_t found = right ? text.rfind(needle) : find(text, needle, 0);
  if (found == std::string_view::npos) return Value(int64_t{-1}, false);
  return Value::integer(character_count(text.substr(0, found)));
}
Value find_first(Call& call) { return find_in(call, false); }
Value find_last(Call& call) { return find_in(call, true); }
Value index_of(Call& call) {
  Value found = find_first(call);
  if (found.as_int() < 0) call.context.fail("substring not found");
  return found;
}

Value count_text(Call& call) {
  const std::string_view text = self_text(call).text();
  const std::string& needle = to_text(call.context, call[0], "the argument").text();
  call.context.spend_bytes(text.size());
  if (needle.empty()) return Value::integer(character_count(text) + 1);
  size_t count = 0;
  for (size_t at = find(text, needle, 0); at != std::string_view::npos;
       at = find(text, needle, at + needle.size())) {
    ++count;
  }
  return Value::integer(count);
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
    out.append(to_text(call.context, item, "a sequence item"));
    if (out.size() > Limits::kMemory) call.context.exhausted("bytes of values", Limits::kMemory);
    is_first = false;
  }
  return call.context.text(std::move(out));
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
  call.context.fail("the value is not in the list");
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
    {"startswith", {"prefix"}, 1, starts_with},
    {"endswith", {"suffix"}, 1, ends_with},
    {"removeprefix", {"prefix"}, 1, remove_prefix},
    {"removesuffix", {"suffix"}, 1, remove_suffix},
    {"find", {"sub"}, 1, find_first},
    {"rfind", {"sub"}, 1, find_last},
    {"index", {"sub"}, 1, index_of},
    {"count", {"sub"}, 1, count_text},
    {"join", {"iterable"}, 1, join},
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
constexpr auto kLoopRows = std::to_array<Builtin>({
    {"cycle", {}, 0, cycle, true},
    {"changed", {}, 0, changed, true},
});

bool is_sequence(const Value& value) {
  const List* list = value.list();
  return list && (list->flavor == Flavor::kList || list->flavor == Flavor::kTuple);
}

}  // namespace

const Builtin* find_method(const Value& self, std::string_view name) {
  if (self.string()) return find_row(kTextRows, name);
  if (self.dict()) return find_row(kDictRows, name);
  if (self.loop()) return find_row(kLoopRows, name);
  if (is_sequence(self)) {
    const Builtin* row = find_row(kListRows, name);
    return row && name == "copy" && self.list()->flavor == Flavor::kTuple ? nullptr : row;
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
      "casefold", "center",     "encode",       "expandtabs", "format",    "format_map",
      "isascii",  "isdecimal",  "isidentifier", "islower",    "isnumeric", "isprintable",
      "istitle",  "isupper",    "ljust",        "maketrans",  "partition", "rindex",
      "rjust",    "rpartition", "swapcase",     "translate",  "zfill"};
  return self.string() && std::find(std::begin(kText), std::end(kText), name) != std::end(kText);
}

}  // namespace adze::text::chat
