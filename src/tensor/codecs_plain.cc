// Plain element types, and the 32-element block types with a 16-bit scale.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/codecs.h"
#include "tensor/codecs_internal.h"
#include "tensor/dtype.h"

namespace adze::codecs {
namespace {

constexpr int kBlock = 32;

template <class T>
void decode_as(const std::byte* block, float* out) {
  *out = static_cast<float>(load<T>(block));
}

void store_f16(float value, std::byte* out) {
  const uint16_t bits = f32_to_f16(value);
  std::memcpy(out, &bits, sizeof bits);
}

// Elements j and j + 16 share byte j: low and high nibble. code(nibble, element) gives the code.
template <class Code>
void split_nibbles(const std::byte* nibbles, BlockParts& parts, Code code) {
  for (int j = 0; j < kBlock / 2; ++j) {
    parts.codes[j] = static_cast<int16_t>(code(low_nibble(nibbles[j]), j));
    parts.codes[j + kBlock / 2] =
        static_cast<int16_t>(code(high_nibble(nibbles[j]), j + kBlock / 2));
  }
}

// The fifth bit of element j, in place.
int fifth_bit(uint32_t bits, int j) { return static_cast<int>(bits >> j & 1u) << 4; }

}  // namespace

void decode_f32(const std::byte* block, float* out) { decode_as<float>(block, out); }
void decode_f16(const std::byte* block, float* out) { *out = load_f16(block); }
void decode_bf16(const std::byte* block, float* out) { *out = bf16_to_f32(load<uint16_t>(block)); }
void decode_i8(const std::byte* block, float* out) { decode_as<int8_t>(block, out); }
void decode_i16(const std::byte* block, float* out) { decode_as<int16_t>(block, out); }
void decode_i32(const std::byte* block, float* out) { decode_as<int32_t>(block, out); }
void decode_i64(const std::byte* block, float* out) { decode_as<int64_t>(block, out); }
void decode_f64(const std::byte* block, float* out) { decode_as<double>(block, out); }

void split_q4_0(const std::byte* block, BlockParts& parts) {
  parts.scale[0] = load_f16(block);
  split_nibbles(block + 2, parts, [](int q, int) { return q - 8; });
}

void split_q4_1(const std::byte* block, BlockParts& parts) {
  parts.scale[0] = load_f16(block);
  parts.minimum[0] = load_f16(block + 2);
  split_nibbles(block + 4, parts, [](int q, int) { return q; });
}

void split_q5_0(const std::byte* block, BlockParts& parts) {
  parts.scale[0] = load_f16(block);
  const auto fifth = load<uint32_t>(block + 2);
  split_nibbles(block + 6, parts, [&](int q, int j) { return (q | fifth_bit(fifth, j)) - 16; });
}

void split_q5_1(const std::byte* block, BlockParts& parts) {
  parts.scale[0] = load_f16(block);
  parts.minimum[0] = load_f16(block + 2);
  const auto fifth = load<uint32_t>(block + 4);
  split_nibbles(block + 8, parts, [&](int q, int j) { return q | fifth_bit(fifth, j); });
}

void split_q8_0(const std::byte* block, BlockParts& parts) {
  parts.scale[0] = load_f16(block);
  for (int j = 0; j < kBlock; ++j) parts.codes[j] = load<int8_t>(block + 2 + j);
}

void split_iq4_nl(const std::byte* block, BlockParts& parts) {
  parts.scale[0] = load_f16(block);
  split_nibbles(block + 2, parts, [](int q, int) { return kNonLinear4[static_cast<size_t>(q)]; });
}

void split_mxfp4(const std::byte* block, BlockParts& parts) {
  // E8M0: 2^(e − 127), halved because the table holds twice the E2M1 values; e = 0 and 1 are
  // subnormal then.
  static constexpr std::array<int8_t, 16> kTwiceE2M1 = {0, 1,  2,  3,  4,  6,  8,  12,
                                                        0, -1, -2, -3, -4, -6, -8, -12};
  parts.scale[0] = std::ldexp(1.0f, static_cast<int>(std::to_integer<uint8_t>(block[0])) - 128);
  split_nibbles(block + 1, parts, [](int q, int) { return kTwiceE2M1[static_cast<size_t>(q)]; });
}

void encode_f32(const float* values, std::byte* block) {
  std::memcpy(block, values, sizeof *values);
}
void encode_f16(const float* values, std::byte* block) { store_f16(*values, block); }
void encode_bf16(const float* values, std::byte* block) {
  const uint16_t bits = f32_to_bf16(*values);
  std::memcpy(block, &bits, sizeof bits);
}

void encode_q4_0(const float* values, std::byte* block) {
  // The value of greatest magnitude becomes −8, with its sign in the scale.
  const float extreme = *std::max_element(
      values, values + kBlock, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  const float d = extreme / -8.0f;
  const float inverse = d != 0.0f ? 1.0f / d : 0.0f;
  store_f16(d, block);
  const auto code = [&](float value) {
    return std::min(15, static_cast<int>(value * inverse + 8.5f));
  };
  for (int j = 0; j < kBlock / 2; ++j) {
    block[2 + j] = static_cast<std::byte>(code(values[j]) | code(values[j + kBlock / 2]) << 4);
  }
}

void encode_q4_1(const float* values, std::byte* block) {
  const auto [low, high] = std::minmax_element(values, values + kBlock);
  const float minimum = *low;
  const float d = (*high - minimum) / 15.0f;
  const float inverse = d != 0.0f ? 1.0f / d : 0.0f;
  store_f16(d, block);
  store_f16(minimum, block + 2);
  const auto code = [&](float value) {
    // Neither negative nor large, and other writers of Q4_1 round in float as well.
    // NOLINTNEXTLINE(bugprone-incorrect-roundings)
    return std::min(15, static_cast<int>((value - minimum) * inverse + 0.5f));
  };
  for (int j = 0; j < kBlock / 2; ++j) {
    block[4 + j] = static_cast<std::byte>(code(values[j]) | code(values[j + kBlock / 2]) << 4);
  }
}

void encode_q8_0(const float* values, std::byte* block) {
  float extreme = 0.0f;
  for (int j = 0; j < kBlock; ++j) extreme = std::max(extreme, std::fabs(values[j]));
  const float d = extreme / 127.0f;
  const float inverse = d != 0.0f ? 1.0f / d : 0.0f;
  store_f16(d, block);
  for (int j = 0; j < kBlock; ++j) {
    block[2 + j] = static_cast<std::byte>(static_cast<int8_t>(std::round(values[j] * inverse)));
  }
}

}  // namespace adze::codecs
