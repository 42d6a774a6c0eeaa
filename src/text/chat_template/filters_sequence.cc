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

void reject_generator(Call& call) {
  const List* list = call.self.list();
  if (list && list->flavor == Flavor::kGenerator) {
    call.context.fail("'generator' object is not reversible");
  }
}

Value last(Call& call) {
  reject_generator(call);
  const std::vector<Value> items = iterate(call.context, call.self);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value reverse(Call& call) {
  reject_generator(call);
  if (call.self.string()) {
    return get_slice(call.context, call.self, Value(), Value(), Value(int64_t{-1}, false));
  }
  if (call.self.is_undefined()) call.context.fail("argument must be iterable");
  std::vector<Value> items = iterate(call.context, call.self);
  std::reverse(items.begin(), items.end());
  return call.context.list(std::move(items), Flavor::kGenerator);
}

// What `attribute` ("a.b.0", an index, or none for the item itself) finds in `item`.
Value resolve(Context& context, Value item, const Value* attribute) {
  if (!attribute || attribute->is_none()) return item;
  if (!attribute->string()) return get_item(context, item, *attribute);
  std::string_view path = attribute->string()->text();
  while (true) {
    context.spend();
    const size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    const bool digits = !part.empty() && std::all_of(part.begin(), part.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    const std::optional<int64_t> index = digits ? parse_int(part, 10) : std::nullopt;
    item = get_item(context, item, index ? Value(*index, false) : context.text(part));
    if (dot == std::string_view::npos) return item;
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
    if (out.size() > Limits::kMemory) call.context.exhausted("bytes of values", Limits::kMemory);
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

Value items(Call& call) { return call.context.list(entries(call), Flavor::kGenerator); }

using Keyed = std::pair<Value, Value>;  // a key to sort by, the item

Value sorted(Call& call, std::vector<Keyed> keyed, bool reversed) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return reversed ? less(call.context, b.first, a.first) : less(call.context, a.first, b.first);
  });
  std::vector<Value> result;
  for (Keyed& entry : keyed) result.push_back(std::move(entry.second));
  return call.context.list(std::move(result));
}

Value sort(Call& call) {
  if (call.has(2) && call[2].string() && call[2].string()->text().find(',') != std::string::npos) {
    call.context.unsupported("sort by several attributes");
  }
  std::vector<Keyed> keyed;
  for (const Value& item : iterate(call.context, call.self)) {
    keyed.emplace_back(key_of(call, item, given(call, 2), flag(call, 1)), item);
  }
  return sorted(call, std::move(keyed), flag(call, 0));
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
  std::vector<Value> result;
  std::unordered_map<std::string, bool> known;
  for (const Value& item : iterate(call.context, call.self)) {
    const Value key = key_of(call, item, given(call, 1), flag(call, 0));
    if (known.emplace(hash_key(call.context, key), true).second) result.push_back(item);
  }
  return call.context.list(std::move(result), Flavor::kGenerator);
}

Value extreme(Call& call, bool largest) {
  const std::vector<Value> all = iterate(call.context, call.self);
  if (all.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = key_of(call, all[0], given(call, 1), flag(call, 0));
  for (size_t i = 1; i < all.size(); ++i) {
    Value key = key_of(call, all[i], given(call, 1), flag(call, 0));
    const bool better =
        largest ? less(call.context, best_key, key) : less(call.context, key, best_key);
    if (better) {
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
    return Value::undefined(name.text());  // attr looks at no items
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

Value map(Call& call) {
  Context& context = call.context;
  const Arguments& raw = call.raw;
  std::vector<Value> result;
  if (raw.positional.empty()) {
    const Value* path = nullptr;
    const Value* missing = nullptr;
    for (const auto& [name, value] : raw.keywords) {
      if (name == "attribute") path = &value;
      if (name == "default") missing = &value;
      if (name != "attribute" && name != "default") {
        context.fail("Unexpected keyword argument '{}'", printable(name));
      }
    }
    if (!path) context.fail("map requires a filter argument");
    for (const Value& item : iterate(context, call.self)) {
      Value found = resolve(context, item, path);
      result.push_back(found.is_undefined() && missing ? *missing : std::move(found));
    }
  } else {
    const std::string& name = to_text(context, raw.positional[0], "a filter's name").text();
    const Builtin* filter = find_filter(name);
    if (!filter) context.unsupported("the filter '{}'", printable(name));
    const Arguments arguments = rest(raw, 1);
    for (const Value& item : iterate(context, call.self)) {
      const Context::Level level(context);
      context.spend();
      result.push_back(call_builtin(context, *filter, item, arguments));
    }
  }
  return context.list(std::move(result), Flavor::kGenerator);
}

// select and its kin: the items that pass (or, for reject, fail) a test, on an attribute or not.
Value choose(Call& call, bool keep, bool by_attribute) {
  Context& context = call.context;
  const std::vector<Value>& given_arguments = call.raw.positional;
  const size_t first = by_attribute ? 1 : 0;
  if (given_arguments.size() < first) context.fail("Missing parameter for attribute name");
  const Builtin* test = nullptr;
  Arguments arguments;
  if (given_arguments.size() > first) {
    const std::string& name = to_text(context, given_arguments[first], "a test's name").text();
    test = find_test(name);
    if (!test) context.unsupported("the test '{}'", printable(name));
    arguments = rest(call.raw, first + 1);
  }
  std::vector<Value> result;
  for (const Value& item : iterate(context, call.self)) {
    context.spend();
    const Value subject = by_attribute ? resolve(context, item, &given_arguments[0]) : item;
    const bool passes = truth(test ? call_builtin(context, *test, subject, arguments) : subject);
    if (passes == keep) result.push_back(item);
  }
  return context.list(std::move(result), Flavor::kGenerator);
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
