// JSON from files, strict and bounded; and as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace adze {

inline constexpr int kMaxJsonDepth = 64;
inline constexpr uint64_t kMaxJsonBytes =
    8 << 20;  // of a configuration, which may list thousands of tokens

// A value and all that it holds, for as long as it lives. The library's own destructor allocates,
// and ends the program where it cannot; this one does not. (Objects of ordered_json that hold
// others copy and destroy them as they grow.)
template <typename Json>
class BasicJsonDocument {
 public:
  BasicJsonDocument() = default;
  explicit BasicJsonDocument(Json value) : value_(std::move(value)) {}
  ~BasicJsonDocument() { clear(value_); }
  BasicJsonDocument(BasicJsonDocument&& other) noexcept { std::swap(value_, other.value_); }
  BasicJsonDocument& operator=(BasicJsonDocument&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  Json& operator*() { return value_; }
  const Json& operator*() const { return value_; }
  Json* operator->() { return &value_; }
  const Json* operator->() const { return &value_; }

 private:
  // From the leaves on: what has no children is freed without a list of them. As deep as the value.
  static void clear(Json& value) noexcept {
    if (auto* array = value.template get_ptr<typename Json::array_t*>()) {
      for (Json& item : *array) clear(item);
      array->clear();
    } else if (auto* object = value.template get_ptr<typename Json::object_t*>()) {
      for (auto& [key, item] : *object) clear(item);
      object->clear();
    }
  }

  Json value_;
};
using JsonDocument = BasicJsonDocument<nlohmann::json>;
using OrderedJsonDocument = BasicJsonDocument<nlohmann::ordered_json>;

// The document in `text`. Throws Error{kInvalidInput} that names `name` and the offset where `text`
// is not JSON, where it nests deeper than kMaxJsonDepth, and where an object has a key twice.
JsonDocument parse_json(std::string_view text, const std::string& name);

// The document in a file of at most `limit` bytes, with errors as of parse_json() and
// read_text_file().
JsonDocument read_json_file(const std::filesystem::path& path, uint64_t limit = kMaxJsonBytes);
// … with its objects' keys in the order of the file.
OrderedJsonDocument read_ordered_json_file(const std::filesystem::path& path,
                                           uint64_t limit = kMaxJsonBytes);

// As text, `indent` blanks for each level, or on one line where that is -1. Its strings may hold
// any bytes (names of files do): what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json, int indent);

// The offset of the first zero byte in `text`, or npos: JSON has none, and the parser would take it
// for the end of the text.
inline size_t find_zero_byte(std::string_view text) { return text.find('\0'); }

}  // namespace adze
