// Attributes, items and slices.
#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"
#include "text/chat_template/text_methods.h"

namespace adze::text::chat {
namespace {

std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const size_t size = loop.items.size();
  if (name == "index") return Value::integer(loop.index + 1);
  if (name == "index0") return Value::integer(loop.index);
  if (name == "revindex") return Value::integer(size - loop.index);
  if (name == "revindex0") return Value::integer(size - loop.index - 1);
  if (name == "first") return Value::boolean(loop.index == 0);
  if (name == "last") return Value::boolean(loop.index + 1 == size);
  if (name == "length") return Value::integer(size);
  if (name == "depth") return Value::integer(loop.level + 1);
  if (name == "depth0") return Value::integer(loop.level);
  if (name == "previtem") {
    return loop.index > 0 ? loop.items[loop.index - 1]
                          : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return loop.index + 1 < size ? loop.items[loop.index + 1]
                                 : Value::undefined("there is no next item");
  }
  return std::nullopt;
}

// What every object of Python has and the sandbox hides.
bool is_private(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "__class__",   "__delattr__", "__dir__",           "__doc__",         "__eq__",
      "__format__",  "__ge__",      "__getattribute__",  "__getstate__",    "__gt__",
      "__hash__",    "__init__",    "__init_subclass__", "__le__",          "__lt__",
      "__ne__",      "__new__",     "__reduce__",        "__reduce_ex__",   "__repr__",
      "__setattr__", "__sizeof__",  "__str__",           "__subclasshook__"};
  return name.starts_with("__") &&
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Value unsafe(const Value& value, std::string_view name) {
  return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.",
                                      printable(name), value.type_name()));
}

// What getattr() finds.
std::optional<Value> find_attribute(Context& context, const Value& value, std::string_view name) {
  if (value.is_undefined() && !is_private(name)) context.fail_undefined(value);
  if (Namespace* space = value.name_space()) {
    context.spend(1 + space->attributes.size() / 32);
    const Value* found = space->find(name);
    if (name == "__class__" || (found && name.starts_with('_'))) return unsafe(value, name);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (const Loop* loop = value.loop()) {
    if (auto found = loop_attribute(*loop, name)) return found;
  }
  if (const List* list = value.list(); list && list->flavor == Flavor::kGroup) {
    if (name == "grouper") return list->items[0];
    if (name == "list") return list->items[1];
  }
  if (const Builtin* method = find_method(value, name)) return context.method(value, method);
  if (is_forbidden_method(value, name) || is_private(name)) return unsafe(value, name);
  if (is_missing_method(value, name)) {
    context.unsupported("'{}' of a '{}'", printable(name), value.type_name());
  }
  if (value.macro()) context.unsupported("attribute '{}' of a macro", printable(name));
  return std::nullopt;
}

// As Jinja names the object in a message.
std::string object_name(const Value& value) {
  if (value.is_none()) return "None";
  if (value.name_space()) return "jinja2.utils.Namespace object";
  if (value.loop()) return "jinja2.runtime.LoopContext object";
  if (value.macro()) return "jinja2.runtime.Macro object";
  if (value.string() && value.string()->is_markup()) return "markupsafe.Markup object";
  if (value.list() && value.list()->flavor == Flavor::kGroup) {
    return "jinja2.filters._GroupTuple object";
  }
  if (const Builtin* function = value.function(); function && function->name == "self") {
    return "jinja2.runtime.TemplateReference object";
  }
  return fmt::format("{} object", value.type_name());
}

Value missing(Context& context, const Value& value, std::string_view name) {
  return context.undefined(fmt::format("'{}' has no attribute {}", object_name(value),
                                       quoted_text(name.substr(0, Limits::kMessage))));
}

std::optional<size_t> place(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

bool is_indexable(const List& list) {
  return list.flavor == Flavor::kList || is_tuple(list) || list.flavor == Flavor::kRange;
}

// value[key] where Python does not raise.
std::optional<Value> find_item(Context& context, const Value& value, const Value& key) {
  if (const Dict* dict = value.dict()) {
    const Value* found = key.hashable() ? dict->find(hash_key(context, key)) : nullptr;
    return found ? std::optional(*found) : std::nullopt;
  }
  if (!key.is_int() && !key.is_bool()) return std::nullopt;
  if (const List* list = value.list(); list && is_indexable(*list)) {
    const auto at = place(key.as_int(), list->items.size());
    return at ? std::optional(list->items[*at]) : std::nullopt;
  }
  if (const String* text = value.string()) {
    context.spend_bytes(text->size());
    const auto at = place(key.as_int(), character_count(text->text()));
    if (at) {
      const size_t begin = character_offset(text->text(), *at);
      return text_like(context, *text, text->part(begin, character_offset(text->text(), *at + 1)));
    }
  }
  return std::nullopt;
}

}  // namespace

Value get_attribute(Context& context, const Value& value, std::string_view name) {
  if (auto found = find_attribute(context, value, name)) return *found;
  if (const Dict* dict = value.dict()) {
    context.spend_bytes(name.size());
    if (const Value* found = dict->find("s" + std::string(name))) return *found;
  }
  return missing(context, value, name);
}

Value get_item(Context& context, const Value& value, const Value& key) {
  if (value.is_undefined()) context.fail_undefined(value);
  if (auto found = find_item(context, value, key)) return *found;
  if (const String* name = key.string()) {
    if (auto found = find_attribute(context, value, name->text())) return *found;
    return missing(context, value, name->text());
  }
  return context.undefined(
      fmt::format("{} has no element {}", object_name(value), representation(context, key)));
}

namespace {

struct Slice {
  int64_t first, stop, stride;
};

// Over `size` elements, by Python's rules (slice.indices).
Slice make_slice(Context& context, size_t size, const Value& begin, const Value& end,
                 const Value& step) {
  constexpr std::string_view kWhat = "slice indices";
  const int64_t stride = step.is_none() ? 1 : to_index(context, step, kWhat);
  if (stride == 0) context.fail("slice step cannot be zero");
  const auto count = static_cast<int64_t>(size);
  const int64_t lowest = stride < 0 ? -1 : 0;
  const int64_t highest = stride < 0 ? count - 1 : count;
  const auto bound = [&](const Value& value, int64_t missing_value) {
    if (value.is_none()) return missing_value;
    const int64_t index = to_index(context, value, kWhat);
    return std::clamp(index < 0 ? std::max(index, -count - 1) + count : index, lowest, highest);
  };
  const int64_t first = bound(begin, stride < 0 ? highest : lowest);
  return {first, bound(end, stride < 0 ? lowest : highest), stride};
}

std::vector<size_t> indices(const Slice& slice) {
  std::vector<size_t> all;
  for (int64_t i = slice.first; slice.stride < 0 ? i > slice.stop : i < slice.stop;) {
    all.push_back(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, slice.stride, &i)) break;
  }
  return all;
}

// The bounds of a range's slice.
std::array<int64_t, 3> slice_range(Context& context, const std::array<int64_t, 3>& bounds,
                                   const Slice& slice) {
  const auto& [begin, end, step] = bounds;
  std::array<int64_t, 3> result;
  const bool overflows = __builtin_mul_overflow(slice.first, step, &result[0]) ||
                         __builtin_add_overflow(begin, result[0], &result[0]) ||
                         __builtin_mul_overflow(slice.stop, step, &result[1]) ||
                         __builtin_add_overflow(begin, result[1], &result[1]) ||
                         __builtin_mul_overflow(slice.stride, step, &result[2]);
  if (overflows) context.unsupported("an integer that does not fit in 64 bits");
  return result;
}

Value slice_text(Context& context, const String& text, const Value& begin, const Value& end,
                 const Value& step) {
  context.spend_bytes(8 * text.size());
  const size_t count = character_count(text.text());
  const Slice slice = make_slice(context, count, begin, end, step);
  if (slice.stride == 1) {
    const size_t from = character_offset(text.text(), static_cast<size_t>(slice.first));
    const size_t to = character_offset(text.text(), static_cast<size_t>(slice.stop));
    return text_like(context, text, text.part(from, std::max(from, to)));
  }
  context.spend(count);  // before there are offsets, which take eight bytes for each
  const std::vector<size_t> offsets = character_offsets(text.text());
  String result;
  for (const size_t i : indices(slice)) result.append_part(text, offsets[i], offsets[i + 1]);
  return text_like(context, text, std::move(result));
}

}  // namespace

Value get_slice(Context& context, const Value& value, const Value& begin, const Value& end,
                const Value& step) {
  if (const List* list = value.list(); list && is_indexable(*list)) {
    context.spend(1 + list->items.size() / 64);
    std::vector<Value> items;
    const Slice slice = make_slice(context, list->items.size(), begin, end, step);
    for (const size_t i : indices(slice)) items.push_back(list->items[i]);
    if (list->flavor == Flavor::kRange) {
      return context.range(std::move(items), slice_range(context, list->bounds, slice));
    }
    return context.list(std::move(items), is_tuple(*list) ? Flavor::kTuple : list->flavor);
  }
  if (const String* text = value.string()) return slice_text(context, *text, begin, end, step);
  if (value.is_undefined()) context.fail_undefined(value);
  context.fail("'{}' object is not subscriptable", value.type_name());
}

}  // namespace adze::text::chat
