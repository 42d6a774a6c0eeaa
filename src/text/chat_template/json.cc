#include "text/chat_template/json.h"

#include <algorithm>
#include <cmath>

#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"

namespace adze::text::chat {

Value from_json(Context& context, const nlohmann::ordered_json& json, bool from_input) {
  using Type = nlohmann::ordered_json::value_t;
  const Context::Level level(context);
  context.spend();
  switch (json.type()) {
    case Type::null:
      return Value();
    case Type::boolean:
      return Value(json.get<bool>(), from_input);
    case Type::number_integer:
      return Value(json.get<int64_t>(), from_input);
    case Type::number_unsigned: {
      const uint64_t number = json.get<uint64_t>();
      if (number > static_cast<uint64_t>(INT64_MAX)) {
        context.unsupported("an integer that does not fit in 64 bits");
      }
      return Value(static_cast<int64_t>(number), from_input);
    }
    case Type::number_float:
      return Value(json.get<double>(), from_input);
    case Type::string:
      return context.text(json.get_ref<const std::string&>(), from_input);
    case Type::array: {
      std::vector<Value> items;
      for (const auto& item : json) items.push_back(from_json(context, item, from_input));
      return context.list(std::move(items));
    }
    case Type::object: {
      std::vector<Pair> entries;
      for (const auto& [key, item] : json.items()) {
        entries.emplace_back(context.text(key, from_input), from_json(context, item, from_input));
      }
      return context.dict(std::move(entries));
    }
    default:
      context.fail("binary data in a request");
  }
}

namespace {

class JsonWriter {
 public:
  JsonWriter(Context& context, const JsonStyle& style) : context_(context), style_(style) {}

  void write(const Value& value, size_t level) {
    context_.spend();
    if (const String* text = value.string()) {
      write_text(text->text());
    } else if (const Dict* dict = value.dict()) {
      write_dict(*dict, level);
    } else if (const List* list = value.list();
               list && (list->flavor == Flavor::kList || is_tuple(*list))) {
      write_list(*list, level);
    } else if (value.is_none() || value.is_number()) {
      out_ += scalar(value);
    } else {
      context_.fail("Object of type {} is not JSON serializable", value.type_name());
    }
    if (out_.size() > Limits::kMemory) context_.exhausted("bytes of values", Limits::kMemory);
  }

  std::string take() { return std::move(out_); }

 private:
  std::string scalar(const Value& value) const {
    if (value.is_none()) return "null";
    if (value.is_bool()) return value.as_int() ? "true" : "false";
    if (value.is_int()) return fmt::format("{}", value.as_int());
    const double number = value.as_float();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
    return float_text(number);
  }

  void new_line(size_t level) {
    if (!style_.indent) return;
    out_ += '\n';
    context_.charge(level * style_.indent->size());
    for (size_t i = 0; i < level; ++i) out_ += *style_.indent;
  }

  void write_list(const List& list, size_t level) {
    if (list.items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(level + 1);
      write(list.items[i], level + 1);
    }
    new_line(level);
    out_ += ']';
  }

  void write_dict(const Dict& dict, size_t level) {
    if (dict.entries.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const Pair*> entries;
    entries.reserve(dict.entries.size());
    for (const Pair& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const Pair* a, const Pair* b) {
        return less(context_, a->first, b->first);
      });
    }
    out_ += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(level + 1);
      write_key(entries[i]->first);
      out_ += style_.key_separator;
      write(entries[i]->second, level + 1);
    }
    new_line(level);
    out_ += '}';
  }

  void write_key(const Value& key) {
    if (key.string()) return write_text(key.string()->text());
    if (!key.is_none() && !key.is_number()) {
      context_.fail("keys must be str, int, float, bool or None, not {}", key.type_name());
    }
    out_ += '"' + scalar(key) + '"';
  }

  void write_escape(int32_t codepoint) {
    if (codepoint < 0x10000) {
      out_ += fmt::format("\\u{:04x}", codepoint);
    } else {
      const int32_t rest = codepoint - 0x10000;
      out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
  }

  void write_text(std::string_view text) {
    static constexpr std::string_view kSpecial = "\"\\\n\r\t\f\b";
    static constexpr std::string_view kLetters = "\"\\nrtfb";
    context_.spend_bytes(text.size());
    context_.charge(text.size());
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const Character character = first_character(text.substr(at));
      const size_t special = kSpecial.find(text[at]);
      if (special != std::string_view::npos) {
        out_ += '\\';
        out_ += kLetters[special];
      } else if ((character.codepoint >= 0 && character.codepoint < 0x20) ||
                 (style_.ensure_ascii && character.codepoint > 0x7e)) {
        write_escape(character.codepoint);
      } else {
        out_ += text.substr(at, character.length);
      }
      at += character.length;
    }
    out_ += '"';
  }

  Context& context_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

std::string to_json(Context& context, const Value& value, const JsonStyle& style) {
  JsonWriter writer(context, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace adze::text::chat
