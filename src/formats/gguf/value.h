// Metadata values of a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace adze::gguf {

// Codes as in the file.
enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
std::string_view value_type_name(ValueType type);
// Bytes of a number or bool in the file; 0 for strings and arrays.
uint32_t value_type_bytes(ValueType type);

// Many strings in one allocation.
class StringArray {
 public:
  void reserve(size_t strings, size_t bytes) {
    ends_.reserve(strings);
    characters_.reserve(bytes);
  }
  void add(std::string_view text) {
    characters_.append(text);
    ends_.push_back(characters_.size());
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(characters_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string characters_;
  std::vector<uint64_t> ends_;
};

// A number keeps the width it has in the file through `type`.
struct Value {
  ValueType type = ValueType::kUint32;
  // Unsigned, signed, floating, bool, string; arrays by element kind.
  std::variant<uint64_t, int64_t, double, bool, std::string, std::vector<uint64_t>,
               std::vector<int64_t>, std::vector<double>, std::vector<bool>, StringArray>
      data;
  ValueType element_type = ValueType::kUint32;  // of an array
};

}  // namespace adze::gguf
