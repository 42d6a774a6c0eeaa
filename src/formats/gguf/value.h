// Metadata values of a GGUF file.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/string_table.h"

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

// A number or bool, widened within its kind.
using Number = std::variant<uint64_t, int64_t, double, bool>;
// From and to the file's little-endian bytes; `type` is a number or bool, `bytes` of any alignment.
// encode_number() wants the alternative that decode_number() gives for the type, and a value that
// fits it.
Number decode_number(ValueType type, const std::byte* bytes);
void encode_number(ValueType type, const Number& number, std::byte* bytes);

// Numbers or bools in the width that they have in the file.
class NumberArray {
 public:
  // `size` zeros; `type` is a number or bool.
  NumberArray(ValueType type, size_t size)
      : type_(type), size_(size), bytes_(size * value_type_bytes(type)) {}

  ValueType type() const { return type_; }
  size_t size() const { return size_; }
  Number operator[](size_t i) const {
    return decode_number(type_, bytes_.data() + i * value_type_bytes(type_));
  }
  // As in the file, little-endian.
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  ValueType type_;
  size_t size_;
  std::vector<std::byte> bytes_;
};

// A number keeps the width it has in the file through `type`; an array is of kind kArray and knows
// its elements' type.
struct Value {
  ValueType type = ValueType::kUint32;
  std::variant<uint64_t, int64_t, double, bool, std::string, NumberArray, StringTable> data;
  ValueType element_type = ValueType::kUint32;  // of an array
};

// The file's type for a C++ number or bool.
template <class T>
consteval ValueType value_type_of() {
  if constexpr (std::same_as<T, bool>) return ValueType::kBool;
  if constexpr (std::same_as<T, float>) return ValueType::kFloat32;
  if constexpr (std::same_as<T, double>) return ValueType::kFloat64;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return kSigned ? ValueType::kInt8 : ValueType::kUint8;
    if constexpr (sizeof(T) == 2) return kSigned ? ValueType::kInt16 : ValueType::kUint16;
    if constexpr (sizeof(T) == 4) return kSigned ? ValueType::kInt32 : ValueType::kUint32;
    if constexpr (sizeof(T) == 8) return kSigned ? ValueType::kInt64 : ValueType::kUint64;
  }
}

// Values to write. The type follows from the C++ type: value_of(uint32_t{3}) is a u32.
template <class T>
requires std::is_arithmetic_v<T> Value value_of(T number) {
  Value value{value_type_of<T>(), {}, ValueType::kUint32};
  if constexpr (std::same_as<T, bool>) {
    value.data = number;
  } else if constexpr (std::floating_point<T>) {
    value.data = static_cast<double>(number);
  } else if constexpr (std::is_signed_v<T>) {
    value.data = static_cast<int64_t>(number);
  } else {
    value.data = static_cast<uint64_t>(number);
  }
  return value;
}
inline Value value_of(std::string text) {
  return {ValueType::kString, std::move(text), ValueType::kUint32};
}
inline Value value_of(const char* text) { return value_of(std::string(text)); }
inline Value value_of(StringTable strings) {
  return {ValueType::kArray, std::move(strings), ValueType::kString};
}
inline Value value_of(NumberArray numbers) {
  const ValueType type = numbers.type();
  return {ValueType::kArray, std::move(numbers), type};
}
template <class T>
requires std::is_arithmetic_v<T> Value value_of(std::span<const T> numbers) {
  NumberArray array(value_type_of<T>(), numbers.size());
  if (!numbers.empty()) {
    std::memcpy(array.bytes().data(), numbers.data(), numbers.size_bytes());
  }
  return value_of(std::move(array));
}

}  // namespace adze::gguf
