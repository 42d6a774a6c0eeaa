// Decoding and encoding against blocks and values that the Python package `gguf` made.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace adze {
namespace {

struct Record {
  std::string name;
  bool encodes = false;
  std::vector<std::byte> bytes;
  std::vector<float> floats;
};

std::vector<Record> read_golden() {
  const std::string data = read_text_file(ADZE_SOURCE_DIR "/tests/golden/dtype_golden.bin");
  size_t position = 0;
  const auto take = [&](void* out, size_t bytes) {
    std::memcpy(out, data.data() + position, bytes);
    position += bytes;
  };
  const auto take_count = [&] {
    uint32_t count = 0;
    take(&count, sizeof count);
    return count;
  };
  std::vector<Record> records;
  while (position < data.size()) {
    Record record;
    record.name.resize(static_cast<unsigned char>(data[position++]));
    take(record.name.data(), record.name.size());
    record.encodes = data[position++] != 0;
    record.bytes.resize(take_count());
    take(record.bytes.data(), record.bytes.size());
    record.floats.resize(take_count());
    take(record.floats.data(), record.floats.size() * sizeof(float));
    records.push_back(std::move(record));
  }
  return records;
}

TEST(DType, DecodesBitForBitAsGguf) {
  std::set<std::string> seen;
  for (const Record& record : read_golden()) {
    if (record.encodes) continue;
    seen.insert(record.name);
    const auto dtype = dtype_from_name(record.name);
    ASSERT_TRUE(dtype.has_value()) << record.name;
    std::vector<float> out(record.floats.size());
    decode(*dtype, record.bytes, out);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(record.floats[i]))
          << record.name << " element " << i << ": " << out[i] << " and " << record.floats[i];
    }
  }
  EXPECT_EQ(seen.size(), 15u);
}

TEST(DType, EncodesByteForByteAsGguf) {
  for (const Record& record : read_golden()) {
    if (!record.encodes) continue;
    std::vector<std::byte> out(record.bytes.size());
    encode(*dtype_from_name(record.name), record.floats, out);
    EXPECT_EQ(out, record.bytes) << record.name;
  }
}

TEST(DType, RefusesToEncodeWhatATypeCannotHold) {
  std::vector<float> values(32, 1.0f);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::byte> out(64);
  EXPECT_THROW(encode(DType::kQ8_0, values, std::span(out).first(34)), Error);
  EXPECT_NO_THROW(encode(DType::kF16, values, out));
  EXPECT_THROW(encode(DType::kQ5_1, values, std::span(out).first(24)), Error);
}

TEST(DType, HalfConversionsRoundToNearestEven) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);  // halfway to the next: infinity
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);    // tie to even
  EXPECT_EQ(f32_to_f16(0x1.8p-24f), 0x0002);  // tie to even
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(f32_to_f16(-2.0f), 0xc000);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1.8p-7f), 0x3f82);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = f16_to_f32(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    } else {
      ASSERT_EQ(f32_to_f16(wide), half);
    }
  }
}

}  // namespace
}  // namespace adze
