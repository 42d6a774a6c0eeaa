#include "base/json.h"

#include <set>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace adze {
namespace {

// Builds a document of the parser's events; what nests too deep or repeats a key is refused before
// memory goes into it.
template <typename Json>
class Builder {
 public:
  explicit Builder(const std::string& name) : name_(name) {}

  BasicJsonDocument<Json> take() { return std::move(document_); }

  // --- What sax_parse() calls. ---
  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(typename Json::number_integer_t value) { return add(Json(value)); }
  bool number_unsigned(typename Json::number_unsigned_t value) { return add(Json(value)); }
  bool number_float(typename Json::number_float_t value, const std::string&) {
    return add(Json(value));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(typename Json::binary_t&) { return false; }  // not in JSON
  bool start_object(size_t) { return open(Json::value_t::object); }
  bool start_array(size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& key) {
    // An object of ordered_json would walk all its keys.
    if constexpr (kOrdered) {
      if (!open_.back().keys.insert(key).second) repeated(key);
    }
    key_ = std::move(key);
    return true;
  }
  bool parse_error(size_t offset, const std::string&, const nlohmann::detail::exception& error) {
    // The library's own numbers: 4xx are of ranges.
    if (error.id / 100 == 4) throw_invalid("{}: a number is out of range", name_);
    throw_invalid("{}: offset {}: not JSON", name_, offset);
  }

 private:
  static constexpr bool kOrdered = std::is_same_v<Json, nlohmann::ordered_json>;
  struct Open {
    Json* value;
    std::set<std::string> keys;  // of an ordered object
  };

  bool open(typename Json::value_t type) {
    if (open_.size() >= kMaxJsonDepth) {
      throw_invalid("{}: nested deeper than {} levels", name_, kMaxJsonDepth);
    }
    open_.push_back({add_value(Json(type)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool add(Json value) {
    add_value(std::move(value));
    return true;
  }
  // A value without children, in what is open. Stays where it is until that is closed.
  Json* add_value(Json value) {
    if (open_.empty()) {
      *document_ = std::move(value);
      return &*document_;
    }
    Json& parent = *open_.back().value;
    if (!parent.is_object()) return &parent.emplace_back(std::move(value));
    auto& object = parent.template get_ref<typename Json::object_t&>();
    if constexpr (kOrdered) {
      using Pairs = typename Json::object_t::Container;
      return &static_cast<Pairs&>(object).emplace_back(std::move(key_), std::move(value)).second;
    } else {
      const auto [place, added] = object.emplace(std::move(key_), std::move(value));
      if (!added) repeated(place->first);
      return &place->second;
    }
  }
  [[noreturn]] void repeated(const std::string& key) const {
    throw_invalid("{}: '{}' appears twice", name_, printable(key));
  }

  const std::string& name_;
  BasicJsonDocument<Json> document_;
  std::vector<Open> open_;  // the innermost is last
  std::string key_;         // of the value that comes
};

template <typename Json>
BasicJsonDocument<Json> parse(std::string_view text, const std::string& name) {
  if (const size_t zero = find_zero_byte(text); zero != std::string_view::npos) {
    throw_invalid("{}: offset {}: a zero byte is not JSON", name, zero);
  }
  Builder<Json> builder(name);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

template <typename Json>
BasicJsonDocument<Json> read(const std::filesystem::path& path, uint64_t limit) {
  return parse<Json>(read_text_file(path, limit), printable(path.string(), kMaxPathBytes));
}

}  // namespace

JsonDocument parse_json(std::string_view text, const std::string& name) {
  return parse<nlohmann::json>(text, name);
}

JsonDocument read_json_file(const std::filesystem::path& path, uint64_t limit) {
  return read<nlohmann::json>(path, limit);
}

OrderedJsonDocument read_ordered_json_file(const std::filesystem::path& path, uint64_t limit) {
  return read<nlohmann::ordered_json>(path, limit);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace adze
