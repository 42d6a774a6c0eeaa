#include "text/chat_template/context.h"

#include <algorithm>
#include <cmath>

namespace adze::text::chat {
Context::~Context() {
  for (const auto& space : namespaces_) space->attributes.clear();
}

void Context::report(ErrorKind kind, const std::string& message) const {
  throw Error(kind, fmt::format("{}: chat template: line {}: {}", printable(name_, kMaxPathBytes),
                                line_, printable(message, Limits::kMessage)));
}

void Context::exhausted(std::string_view what, uint64_t limit) const {
  report(ErrorKind::kResourceExhausted, fmt::format("more than {} {}", limit, what));
}

void Context::fail_undefined(const Value& value) const {
  if (const Undefined* undefined = value.undefined()) fail("{}", undefined->message);
  fail("'{}' object cannot be used here", value.type_name());
}

int Context::checked_depth(int inner) const {
  if (inner >= Limits::kValueDepth) exhausted("levels of values", Limits::kValueDepth);
  return inner + 1;
}

Value Context::undefined(std::string message) {
  if (message.size() > Limits::kMessage) message.resize(Limits::kMessage);
  charge(sizeof(Undefined) + message.size());
  return Value::undefined(std::move(message));
}

Value Context::text(String text) {
  charge(sizeof(String) + text.bytes());
  return Value(std::make_shared<const String>(std::move(text)));
}

Value Context::text(std::string_view bytes, bool from_input) {
  return text(String(std::string(bytes), from_input));
}

std::shared_ptr<List> Context::make_list(std::vector<Value> items, Flavor flavor) {
  charge(sizeof(List) + items.size() * sizeof(Value));
  auto list = std::make_shared<List>();
  list->hashable = flavor == Flavor::kTuple || flavor == Flavor::kGroup || flavor == Flavor::kRange;
  for (const Value& item : items) {
    list->depth = std::max(list->depth, checked_depth(item.depth()));
    list->hashable = list->hashable && item.hashable();
    list->has_input = list->has_input || item.has_input();
  }
  list->flavor = flavor;
  list->items = std::move(items);
  return list;
}

Value Context::list(std::vector<Value> items, Flavor flavor) {
  return Value(std::shared_ptr<const List>(make_list(std::move(items), flavor)));
}

Value Context::range(std::vector<Value> items, std::array<int64_t, 3> bounds) {
  auto list = make_list(std::move(items), Flavor::kRange);
  list->bounds = bounds;
  return Value(std::shared_ptr<const List>(std::move(list)));
}

Value Context::generator(std::vector<Value> items, std::exception_ptr failure) {
  auto list = make_list(std::move(items), Flavor::kGenerator);
  list->failure = std::move(failure);
  return Value(std::shared_ptr<const List>(std::move(list)));
}

Value Context::dict(std::vector<Pair> entries) {
  charge(sizeof(Dict));
  auto dict = std::make_shared<Dict>();
  for (auto& [key, value] : entries) {
    std::string hash = hash_key(*this, key);
    charge(sizeof(Pair) + 2 * sizeof(size_t) + sizeof(std::string) + hash.size());
    dict->depth = std::max({dict->depth, checked_depth(key.depth()), checked_depth(value.depth())});
    dict->has_input = dict->has_input || key.has_input() || value.has_input();
    const auto [place, added] = dict->index.emplace(std::move(hash), dict->entries.size());
    if (added) {
      dict->entries.emplace_back(std::move(key), std::move(value));
    } else {
      dict->entries[place->second].second = std::move(value);
    }
  }
  return Value(std::shared_ptr<const Dict>(std::move(dict)));
}

Value Context::name_space(std::vector<std::pair<std::string, Value>> attributes) {
  charge(sizeof(Namespace) + attributes.size() * sizeof(attributes[0]));
  namespaces_.push_back(std::make_shared<Namespace>(Namespace{std::move(attributes)}));
  return Value(namespaces_.back());
}

Value Context::method(Value self, const Builtin* builtin) {
  charge(sizeof(Method));
  checked_depth(self.depth());
  return Value(std::make_shared<const Method>(Method{std::move(self), builtin}));
}

Value Context::loop(std::shared_ptr<Loop> state) {
  charge(sizeof(Loop) + state->items.size() * sizeof(Value));
  for (const Value& item : state->items) {
    state->depth = std::max(state->depth, checked_depth(item.depth()));
  }
  return Value(std::move(state));
}

std::string hash_key(Context& context, const Value& value) {
  if (const String* text = value.string()) {
    context.spend_bytes(text->size());
    context.charge(text->size());
    return "s" + text->text();
  }
  if (value.is_none()) return "0";
  if (value.is_undefined()) return "u";
  if (value.is_bool() || value.is_int()) return fmt::format("n{}", value.as_int());
  if (value.is_float()) {
    const double number = value.as_float();
    const bool integral = std::trunc(number) == number && std::abs(number) < 9.2e18;
    return integral ? fmt::format("n{}", static_cast<int64_t>(number)) : fmt::format("f{}", number);
  }
  if (const List* list = value.list(); list && is_tuple(*list)) {
    std::string key = "(";
    for (const Value& item : list->items) {
      context.spend();
      const std::string part = hash_key(context, item);
      context.charge(part.size());
      key += fmt::format("{}:{}", part.size(), part);
    }
    return key;
  }
  if (const List* list = value.list(); list && list->flavor == Flavor::kRange) {
    // Equal where they have the same items.
    const size_t size = list->items.size();
    return fmt::format("r{}:{}:{}", size, size > 0 ? list->bounds[0] : 0,
                       size > 1 ? list->bounds[2] : 0);
  }
  context.fail("unhashable type: '{}'", value.type_name());
}

}  // namespace adze::text::chat
