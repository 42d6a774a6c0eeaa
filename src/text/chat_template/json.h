// JSON as a template's values, and values as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "text/chat_template/context.h"

namespace adze::text::chat {

// All text and numbers in it count as input with `from_input`.
Value from_json(Context& context, const nlohmann::ordered_json& json, bool from_input);

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // what one level is indented by
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// As Python's json.dumps() writes it.
std::string to_json(Context& context, const Value& value, const JsonStyle& style);

}  // namespace adze::text::chat
