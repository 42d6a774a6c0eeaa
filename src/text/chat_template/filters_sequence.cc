// Filters over sequences and mappings.
#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"

namespace adze::text::chat {
namespace {

Value default_value(Call& call) {
  const bool falsy_too = call.has(1) && truth(call[1]);
  const bool use = call.self.is_undefined() || (falsy_too && !truth(call.self));
  if (!use) return call.self;
  return call.has(0) ? call[0] : call.context.text("");
}

Value count(Call& call) { return Value::integer(length(call.context, call.self)); }

Value list(Call& call) { return call.context.list(iterate(call.context, call.self)); }

Value first(Call& call) {
  const List* list = call.self.list();
  if (list && list->consumed < list->items.size()) {
    const size_t at = list->consumed;
    if (list->flavor == Flavor::kGenerator) ++list->consumed;
    return list->items[at];
  }
  const std::vector<Value> items = iterate(call.context, call.self);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items[0];
}

Value last(Call& call) {
  const List* list = call.self.list();
  if (list && list->flavor == Flavor::kGenerator) {
    call.context.fail("'generator' object is not reversible");
  }
  if (call.self.string() && !call.self.string()->empty()) {
    return get_item(call.context, call.self, Value(int64_t{-1}, false));
  }
  const std::vector<Value> items = iterate(call.context, call.self);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value reverse(Call& call) {
  if (call.self.string()) {
    return get_slice(call.context, call.self, Value(), Value(), Value(int64_t{-1}, false));
  }
  if (!is_iterable(call.self)) call.context.fail("argument must be iterable");
  std::vector<Value> items = iterate(call.context, call.self);
  std::reverse(items.begin(), items.end());
  const List* list = call.self.list();
  const bool generator = list && list->flavor == Flavor::kGenerator;
  return generator ? call.context.list(std::move(items)) : call.context.generator(std::move(items));
}

// What `attribute` ("a.b.0", an index, or none for the item itself) finds in `item`. `missing`, if
// it is given and not None, stands for what is not found at any step.
Value resolve(Context& context, Value item, const Value* attribute,
              const Value* missing = nullptr) {
  if (!attribute || attribute->is_none()) return item;
  const auto step = [&](const Value& key) {
    item = get_item(context, item, key);
    if (item.is_undefined() && missing && !missing->is_none()) item = *missing;
  };
  if (!attribute->string()) {
    step(*attribute);
    return item;
  }
  for (std::string_view path = attribute->string()->text();;) {
    context.spend();
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, dot);
    const bool digits = !part.empty() && std::all_of(part.begin(), part.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    const std::optional<int64_t> index = digits ? parse_int(part, 10) : std::nullopt;
    step(index ? Value(*index, false) : context.text(part));
    if (dot == path.size()) return item;
    path.remove_prefix(dot + 1);
  }
}

// Text without case, unless `case_sensitive`.
Value key_of(Call& call, const Value& item, const Value* attribute, bool case_sensitive) {
  Value key = resolve(call.context, item, attribute);
  if (case_sensitive || !key.string()) return key;
  call.context.spend_bytes(8 * key.string()->size());
  return call.context.text(change_case(*key.string(), Case::kLower));
}

const Value* given(const Call& call, size_t i) { return call.has(i) ? &call[i] : nullptr; }
bool flag(const Call& call, size_t i) { return call.has(i) && truth(call[i]); }

Value join(Call& call) {
  const String separator = call.has(0) ? to_string(call.context, call[0]) : String();
  String out;
  bool is_first = true;
  for (const Value& item : iterate(call.context, call.self)) {
    if (!is_first) {
      call.context.spend_bytes(separator.size());
      out.append(separator);
    }
    out.append(to_string(call.context, resolve(call.context, item, given(call, 1))));
    call.context.spend();
    call.context.bound(out);
    is_first = false;
  }
  return call.context.text(std::move(out));
}

std::vector<Value> entries(Call& call) {
  std::vector<Value> items;
  const Dict* dict = call.self.dict();
  if (!dict) {
    if (call.self.is_undefined()) return items;
    call.context.fail("Can only get item pairs from a mapping.");
  }
  for (const auto& [key, value] : dict->entries) {
    items.push_back(call.context.list({key, value}, Flavor::kTuple));
  }
  call.context.spend(1 + items.size());
  return items;
}

// What Jinja yields one by one: the items that `produce` adds, and where it fails, a failure behind
// those it had.
template <class Produce>
Value lazily(Context& context, Produce produce) {
  std::vector<Value> items;
  std::exception_ptr failure;
  try {
    produce(items);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kResourceExhausted) throw;
    failure = std::current_exception();
  }
  return context.generator(std::move(items), std::move(failure));
}

Value items(Call& call) {
  return lazily(call.context, [&](std::vector<Value>& out) { out = entries(call); });
}

using Keyed = std::pair<Value, Value>;  // a key to sort by, the item

Value sorted(Call& call, std::vector<Keyed> keyed, bool reversed) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return reversed ? less(call.context, b.first, a.first) : less(call.context, a.first, b.first);
  });
  std::vector<Value> result;
  result.reserve(keyed.size());
  for (Keyed& entry : keyed) result.push_back(std::move(entry.second));
  return call.context.list(std::move(result));
}

// The keys by `attribute`, which may name several with commas between: a list even of one, whose
// items Python compares for equality first.
Value sort_key(Call& call, const Value& item, const Value* attribute, bool case_sensitive) {
  std::vector<Value> keys;
  if (const String* names = attribute ? attribute->string() : nullptr) {
    for (std::string_view rest = names->text();;) {
      const size_t comma = std::min(rest.find(','), rest.size());
      const Value name = call.context.text(rest.substr(0, comma));
      keys.push_back(key_of(call, item, &name, case_sensitive));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  } else {
    keys.push_back(key_of(call, item, attribute, case_sensitive));
  }
  return call.context.list(std::move(keys));
}

Value sort(Call& call) {
  std::vector<Keyed> keyed;
  for (const Value& item : iterate(call.context, call.self)) {
    keyed.emplace_back(sort_key(call, item, given(call, 2), flag(call, 1)), item);
  }
  return sorted(call, std::move(keyed), flag(call, 0));
}

// [(key, items)…] by rising key.
Value group_by(Call& call) {
  Context& context = call.context;
  const auto key = [&](const Value& item, bool case_sensitive) {
    const Value found = resolve(context, item, &call[0], given(call, 1));
    return key_of(call, found, nullptr, case_sensitive);
  };
  const bool case_sensitive = flag(call, 2);
  std::vector<Keyed> keyed;
  for (const Value& item : iterate(context, call.self)) {
    keyed.emplace_back(key(item, case_sensitive), item);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [&](const Keyed& a, const Keyed& b) { return less(context, a.first, b.first); });
  std::vector<Value> groups;
  for (size_t begin = 0, end = 0; begin < keyed.size(); begin = end) {
    std::vector<Value> members;
    for (; end < keyed.size() && equal(context, keyed[begin].first, keyed[end].first); ++end) {
      members.push_back(keyed[end].second);
    }
    if (end == begin) ++end;  // a key that is not equal to itself
    const Value name = key(keyed[begin].second, true);
    groups.push_back(context.list({name, context.list(std::move(members))}, Flavor::kGroup));
  }
  return context.list(std::move(groups));
}

int64_t part_count(Call& call, std::string_view what) {
  const int64_t count = to_index(call.context, call[0], what);
  if (count > Limits::kRange) {
    call.context.exhausted("parts of a sequence", static_cast<uint64_t>(Limits::kRange));
  }
  return count;
}

// Lists of as many items as the first argument says, the last one filled up with the second.
Value batch(Call& call) {
  return lazily(call.context, [&](std::vector<Value>& out) {
    const int64_t size = part_count(call, "linecount");
    std::vector<Value> part;
    for (const Value& item : iterate(call.context, call.self)) {
      if (static_cast<int64_t>(part.size()) == size) {
        out.push_back(call.context.list(std::exchange(part, {})));
      }
      part.push_back(item);
    }
    if (part.empty()) return;
    const bool fill = call.has(1) && !call[1].is_none();
    while (fill && static_cast<int64_t>(part.size()) < size) part.push_back(call[1]);
    out.push_back(call.context.list(std::move(part)));
  });
}

// As many lists as the first argument says, the shorter ones filled up with the second.
Value slice(Call& call) {
  return lazily(call.context, [&](std::vector<Value>& out) {
    const std::vector<Value> all = iterate(call.context, call.self);
    const int64_t count = part_count(call, "slices");
    if (count == 0) call.context.fail("integer division or modulo by zero");
    const auto size = static_cast<int64_t>(all.size());
    int64_t begin = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool longer = i < size % count;
      const int64_t end = begin + size / count + (longer ? 1 : 0);
      std::vector<Value> part(all.begin() + begin, all.begin() + end);
      if (call.has(1) && !call[1].is_none() && !longer) part.push_back(call[1]);
      out.push_back(call.context.list(std::move(part)));
      begin = end;
    }
  });
}

Value sort_dict(Call& call) {
  const std::string by = call.has(1) ? to_text(call.context, call[1], "by").text() : "key";
  if (by != "key" && by != "value") {
    call.context.fail("You can only sort by either \"key\" or \"value\"");
  }
  if (call.self.is_undefined()) call.context.fail_undefined(call.self);
  std::vector<Keyed> keyed;
  const Value place = Value::integer(by == "key" ? 0 : 1);
  for (const Value& pair : entries(call)) {
    keyed.emplace_back(key_of(call, pair, &place, flag(call, 0)), pair);
  }
  return sorted(call, std::move(keyed), flag(call, 2));
}

Value unique(Call& call) {
  return lazily(call.context, [&](std::vector<Value>& out) {
    std::unordered_map<std::string, bool> known;
    for (const Value& item : iterate(call.context, call.self)) {
      const Value key = key_of(call, item, given(call, 1), flag(call, 0));
      if (known.emplace(hash_key(call.context, key), true).second) out.push_back(item);
    }
  });
}

Value extreme(Call& call, bool largest) {
  const std::vector<Value> all = iterate(call.context, call.self);
  if (all.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = key_of(call, all[0], given(call, 1), flag(call, 0));
  for (size_t i = 1; i < all.size(); ++i) {
    Value key = key_of(call, all[i], given(call, 1), flag(call, 0));
    if (compare(call.context, largest ? Comparison::kGreater : Comparison::kLess, key, best_key)) {
      best = i;
      best_key = std::move(key);
    }
  }
  return all[best];
}
Value minimum(Call& call) { return extreme(call, false); }
Value maximum(Call& call) { return extreme(call, true); }

Value sum(Call& call) {
  Value total = call.has(1) ? call[1] : Value(int64_t{0}, false);
  if (total.string()) call.context.fail("sum() can't sum strings");
  for (const Value& item : iterate(call.context, call.self)) {
    total = arithmetic(call.context, Arithmetic::kAdd, total,
                       resolve(call.context, item, given(call, 0)));
  }
  return total;
}

Value attribute(Call& call) {
  const String& name = to_text(call.context, call[0], "attribute name");
  if (call.self.dict() && !find_method(call.self, name.text())) {
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'",
                                        printable(name.text())));  // attr looks at no items
  }
  return get_attribute(call.context, call.self, name.text());
}

// The arguments behind the first `skip`.
Arguments rest(const Arguments& raw, size_t skip) {
  Arguments result;
  result.positional.assign(raw.positional.begin() + static_cast<ptrdiff_t>(skip),
                           raw.positional.end());
  result.keywords = raw.keywords;
  return result;
}

// map(attribute=…, default=…)
void map_attribute(Call& call, std::vector<Value>& out) {
  Context& context = call.context;
  const Value* path = nullptr;
  const Value* missing = nullptr;
  for (const auto& [name, value] : call.raw.keywords) {
    if (name == "attribute") path = &value;
    if (name == "default") missing = &value;
    if (name != "attribute" && name != "default") {
      context.fail("Unexpected keyword argument '{}'", printable(name));
    }
  }
  if (!path) context.fail("map requires a filter argument");
  for (const Value& item : iterate(context, call.self)) {
    out.push_back(resolve(context, item, path, missing));
  }
}

void map_filter(Call& call, std::vector<Value>& out) {
  Context& context = call.context;
  const std::string& name = to_text(context, call.raw.positional[0], "a filter's name").text();
  const Builtin* filter = find_filter(name);
  if (!filter && is_missing_filter(name)) context.unsupported("the filter '{}'", name);
  if (!filter) context.fail("No filter named '{}'.", printable(name));
  const Arguments arguments = rest(call.raw, 1);
  for (const Value& item : iterate(context, call.self)) {
    const Context::Level level(context);
    context.spend();
    out.push_back(call_builtin(context, *filter, item, arguments));
  }
}

Value map(Call& call) {
  return lazily(call.context, [&](std::vector<Value>& out) {
    if (!truth(call.self)) return;
    if (call.raw.positional.empty()) return map_attribute(call, out);
    map_filter(call, out);
  });
}

// select and its kin: the items that pass (or, for reject, fail) a test, on an attribute or not.
void choose_from(Call& call, bool keep, bool by_attribute, std::vector<Value>& out) {
  Context& context = call.context;
  const std::vector<Value>& given_arguments = call.raw.positional;
  const size_t first = by_attribute ? 1 : 0;
  if (given_arguments.size() < first) context.fail("Missing parameter for attribute name");
  const Builtin* test = nullptr;
  Arguments arguments;
  if (given_arguments.size() > first) {
    const std::string& name = to_text(context, given_arguments[first], "a test's name").text();
    test = find_test(name);
    if (!test) context.fail("No test named '{}'.", printable(name));
    arguments = rest(call.raw, first + 1);
  }
  for (const Value& item : iterate(context, call.self)) {
    context.spend();
    const Value subject = by_attribute ? resolve(context, item, &given_arguments[0]) : item;
    const bool passes = truth(test ? call_builtin(context, *test, subject, arguments) : subject);
    if (passes == keep) out.push_back(item);
  }
}

Value choose(Call& call, bool keep, bool by_attribute) {
  return lazily(call.context, [&](std::vector<Value>& out) {
    if (truth(call.self)) choose_from(call, keep, by_attribute, out);
  });
}
Value select(Call& call) { return choose(call, true, false); }
Value reject(Call& call) { return choose(call, false, false); }
Value select_attribute(Call& call) { return choose(call, true, true); }
Value reject_attribute(Call& call) { return choose(call, false, true); }

constexpr auto kRows = std::to_array<Builtin>({
    {"default", {"default_value", "boolean"}, 0, default_value},
    {"d", {"default_value", "boolean"}, 0, default_value},
    {"length", {}, 0, count},
    {"count", {}, 0, count},
    {"list", {}, 0, list},
    {"first", {}, 0, first},
    {"last", {}, 0, last},
    {"reverse", {}, 0, reverse},
    {"join", {"d", "attribute"}, 0, join},
    {"items", {}, 0, items},
    {"sort", {"reverse", "case_sensitive", "attribute"}, 0, sort},
    {"dictsort", {"case_sensitive", "by", "reverse"}, 0, sort_dict},
    {"batch", {"linecount", "fill_with"}, 1, batch},
    {"slice", {"slices", "fill_with"}, 1, slice},
    {"groupby", {"attribute", "default", "case_sensitive"}, 1, group_by},
    {"unique", {"case_sensitive", "attribute"}, 0, unique},
    {"min", {"case_sensitive", "attribute"}, 0, minimum},
    {"max", {"case_sensitive", "attribute"}, 0, maximum},
    {"sum", {"attribute", "start"}, 0, sum},
    {"attr", {"name"}, 1, attribute},
    {"map", {}, 0, map, true},
    {"select", {}, 0, select, true},
    {"reject", {}, 0, reject, true},
    {"selectattr", {}, 0, select_attribute, true},
    {"rejectattr", {}, 0, reject_attribute, true},
});

}  // namespace

const Builtin* find_sequence_filter(std::string_view name) { return find_row(kRows, name); }

}  // namespace adze::text::chat
