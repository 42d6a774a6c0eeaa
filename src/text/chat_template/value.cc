#include "text/chat_template/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace adze::text::chat {

Value* Namespace::find(std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == attributes.end() ? nullptr : &found->second;
}

Value Value::undefined(std::string message) {
  Value value;
  value.data_ = std::make_shared<const Undefined>(Undefined{std::move(message)});
  return value;
}

Value Value::undefined_name(std::string_view name) {
  return undefined(fmt::format("'{}' is undefined", printable(name)));
}

const void* Value::identity() const {
  if (list()) return list();
  if (dict()) return dict();
  if (name_space()) return name_space();
  if (loop()) return loop();
  if (macro()) return macro();
  return function();
}

bool Value::hashable() const {
  if (const List* sequence = list()) return sequence->hashable;
  return !dict() && !name_space() && !loop();
}

bool Value::has_input() const {
  if (const String* text = string()) return text->has_input();
  if (const List* sequence = list()) return sequence->has_input;
  if (const Dict* mapping = dict()) return mapping->has_input;
  if (name_space() || loop()) return true;
  if (const Method* bound = method()) return bound->self.has_input();
  return from_input_;
}

int Value::depth() const {
  if (const List* sequence = list()) return sequence->depth;
  if (const Dict* mapping = dict()) return mapping->depth;
  if (const Loop* state = loop()) return state->depth;
  if (const Method* bound = method()) return bound->self.depth() + 1;
  return 1;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_float()) return "float";
  if (string()) return string()->is_markup() ? "Markup" : "str";
  if (dict()) return "dict";
  if (name_space()) return "Namespace";
  if (loop()) return "LoopContext";
  if (macro()) return "Macro";
  if (const List* sequence = list()) {
    switch (sequence->flavor) {
      case Flavor::kList:
        return "list";
      case Flavor::kTuple:
        return "tuple";
      case Flavor::kGroup:
        return "_GroupTuple";
      case Flavor::kRange:
        return "range";
      case Flavor::kGenerator:
        return "generator";
      case Flavor::kKeys:
        return "dict_keys";
      case Flavor::kValues:
        return "dict_values";
      case Flavor::kItems:
        return "dict_items";
    }
  }
  return "function";
}

}  // namespace adze::text::chat
