// A small GGUF file put together field by field, which knows where its fields lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adze::gguf {

// A count, length, dimension, code or offset within the bytes.
struct Field {
  enum class Kind { kTensorCount, kCount, kLength, kDimensionCount, kDimension, kOffset, kCode };
  Kind kind;
  size_t position;
  size_t width;
  std::string name;
};

class GgufBytes {
 public:
  std::string bytes;
  std::vector<Field> fields;
  size_t header_size = 0;

  template <class T>
  void number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void field(Field::Kind kind, const std::string& name, T value) {
    fields.push_back({kind, bytes.size(), sizeof value, name});
    number(value);
  }
  void text(const std::string& name, std::string_view value) {
    field<uint64_t>(Field::Kind::kLength, name, value.size());
    bytes += value;
  }
  void header(uint64_t tensors, uint64_t metadata) {
    bytes += "GGUF";
    field<uint32_t>(Field::Kind::kCode, "version", 3);
    field(Field::Kind::kTensorCount, "tensor count", tensors);
    field(Field::Kind::kCount, "metadata count", metadata);
  }
  // The value follows.
  void key(const std::string& name, uint32_t type) {
    text(name, name);
    field(Field::Kind::kCode, name + " type", type);
  }
  void array(const std::string& name, uint32_t element_type, uint64_t count) {
    key(name, 9);
    field(Field::Kind::kCode, name + " element type", element_type);
    field(Field::Kind::kCount, name + " length", count);
  }
  // `dimensions` innermost first, as in the file.
  void tensor(const std::string& name, const std::vector<uint64_t>& dimensions, uint32_t type,
              uint64_t offset) {
    text(name, name);
    field(Field::Kind::kDimensionCount, name + " dimensions",
          static_cast<uint32_t>(dimensions.size()));
    for (const uint64_t size : dimensions) field(Field::Kind::kDimension, name + " size", size);
    field(Field::Kind::kCode, name + " type", type);
    field(Field::Kind::kOffset, name + " offset", offset);
  }
  // Ends the header and adds `data` bytes.
  void finish(size_t data, size_t alignment = 32) {
    header_size = bytes.size();
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
    for (size_t i = 0; i < data; ++i) bytes += static_cast<char>(i);
  }
  // These bytes with another value in a field, cut to the field's width.
  std::string with(const Field& changed, uint64_t value) const {
    std::string copy = bytes;
    std::memcpy(copy.data() + changed.position, &value, changed.width);
    return copy;
  }
};

}  // namespace adze::gguf
