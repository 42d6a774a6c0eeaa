#include "formats/gguf/value.h"

#include <array>
#include <cassert>

namespace adze::gguf {
namespace {

// How one type is stored, and which kind of Number it is.
struct Storage {
  Number (*decode)(const std::byte* bytes);
  void (*encode)(const Number& number, std::byte* bytes);
};

template <class Stored, class Kind>
Number decode_as(const std::byte* bytes) {
  Stored stored;
  std::memcpy(&stored, bytes, sizeof stored);
  return static_cast<Kind>(stored);
}
template <class Stored, class Kind>
void encode_as(const Number& number, std::byte* bytes) {
  const auto stored = static_cast<Stored>(std::get<Kind>(number));
  std::memcpy(bytes, &stored, sizeof stored);
}
template <class Stored, class Kind>
constexpr Storage kStored = {decode_as<Stored, Kind>, encode_as<Stored, Kind>};

// By code. A bool is stored as a byte: any bit pattern may be read.
constexpr std::array<Storage, 13> kStorage = {{
    kStored<uint8_t, uint64_t>,
    kStored<int8_t, int64_t>,
    kStored<uint16_t, uint64_t>,
    kStored<int16_t, int64_t>,
    kStored<uint32_t, uint64_t>,
    kStored<int32_t, int64_t>,
    kStored<float, double>,
    kStored<uint8_t, bool>,
    {nullptr, nullptr},
    {nullptr, nullptr},
    kStored<uint64_t, uint64_t>,
    kStored<int64_t, int64_t>,
    kStored<double, double>,
}};

const Storage& storage(ValueType type) {
  const Storage& entry = kStorage[static_cast<size_t>(type)];
  assert(entry.decode != nullptr);
  return entry;
}

}  // namespace

std::string_view value_type_name(ValueType type) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
      "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<size_t>(type)];
}

uint32_t value_type_bytes(ValueType type) {
  static constexpr std::array<uint32_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[static_cast<size_t>(type)];
}

Number decode_number(ValueType type, const std::byte* bytes) { return storage(type).decode(bytes); }

void encode_number(ValueType type, const Number& number, std::byte* bytes) {
  storage(type).encode(number, bytes);
}

}  // namespace adze::gguf
