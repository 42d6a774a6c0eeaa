// Conversions between float32 and the plain types, over all 16-bit patterns and their ties, against
// checksums of what NumPy and `gguf` make of the same inputs
// (tests/golden/make_conversion_golden.py).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/dtype.h"

namespace adze {
namespace {

std::string golden(const std::string& name) {
  static const auto kGolden =
      nlohmann::json::parse(read_text_file(ADZE_SOURCE_DIR "/tests/golden/conversion_golden.json"));
  return kGolden.at(name);
}

// FNV-1a.
class Checksum {
 public:
  template <class T>
  void add(T value) {
    std::array<unsigned char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    for (const unsigned char byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001b3u;
  }
  // NaNs are one value: which payload a conversion keeps is not defined.
  void add_float(float value) {
    add(std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value));
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

TEST(Conversion, EveryHalfToFloat) {
  Checksum f16;
  Checksum bf16;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    f16.add_float(f16_to_f32(static_cast<uint16_t>(bits)));
    bf16.add_float(bf16_to_f32(static_cast<uint16_t>(bits)));
  }
  EXPECT_EQ(f16.text(), golden("f16_to_f32"));
  EXPECT_EQ(bf16.text(), golden("bf16_to_f32"));
}

TEST(Conversion, FloatsAtAndAroundEveryTieToHalf) {
  constexpr std::array<uint32_t, 12> kLow = {0,      1,      0x0fff, 0x1000, 0x1001, 0x2fff,
                                             0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff};
  Checksum f16;
  Checksum bf16;
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : kLow) {
      const auto value = std::bit_cast<float>(high << 16 | low);
      const uint16_t half = f32_to_f16(value);
      const uint16_t brain = f32_to_bf16(value);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(f16_to_f32(half)));
        ASSERT_TRUE(std::isnan(bf16_to_f32(brain)));
      }
      f16.add(std::isnan(value) ? uint16_t{0x7fff} : half);
      bf16.add(std::isnan(value) ? uint16_t{0x7fff} : brain);
    }
  }
  EXPECT_EQ(f16.text(), golden("f32_to_f16"));
  EXPECT_EQ(bf16.text(), golden("f32_to_bf16"));
}

TEST(Conversion, PlainTypesDecode) {
  // splitmix64.
  std::vector<uint64_t> random(4096);
  uint64_t state = 0;
  for (uint64_t& number : random) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    number = z ^ z >> 31;
  }
  const auto bytes = std::as_bytes(std::span(random));
  for (const DType dtype :
       {DType::kF32, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kF64}) {
    const DTypeInfo& info = dtype_info(dtype);
    std::vector<float> values(bytes.size() / info.block_bytes);
    decode(dtype, bytes, values);
    Checksum checksum;
    for (const float value : values) checksum.add_float(value);
    EXPECT_EQ(checksum.text(), golden(std::string(info.name))) << info.name;
  }
}

}  // namespace
}  // namespace adze
