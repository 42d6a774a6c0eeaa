// The 256-element types: sub-blocks of 16 or 32 elements with small integer scales under one or two
// 16-bit floats.
#include <cstdint>

#include "tensor/codecs.h"
#include "tensor/codecs_internal.h"

namespace adze::codecs {
namespace {

int byte_at(const std::byte* bytes, int i) { return std::to_integer<int>(bytes[i]); }

// Q3_K's twelve bytes: sixteen 6-bit scales, low nibbles in the first eight bytes, two high bits
// each in the last four.
void unpack_scales_q3(const std::byte* packed, int scales[16]) {
  for (int j = 0; j < 16; ++j) {
    const int low = j < 8 ? byte_at(packed, j) & 15 : byte_at(packed, j - 8) >> 4;
    const int high = byte_at(packed, 8 + j % 4) >> (2 * (j / 4)) & 3;
    scales[j] = (low | high << 4) - 32;
  }
}

}  // namespace

ScalesAndMinimums unpack_scales_k4(const std::byte* packed) {
  ScalesAndMinimums out{};
  for (int j = 0; j < 4; ++j) {
    out.scale[j] = static_cast<unsigned char>(byte_at(packed, j) & 63);
    out.minimum[j] = static_cast<unsigned char>(byte_at(packed, j + 4) & 63);
    out.scale[j + 4] =
        static_cast<unsigned char>((byte_at(packed, j + 8) & 15) | (byte_at(packed, j) >> 6) << 4);
    out.minimum[j + 4] = static_cast<unsigned char>(byte_at(packed, j + 8) >> 4 |
                                                    (byte_at(packed, j + 4) >> 6) << 4);
  }
  return out;
}

void decode_q2_k(const std::byte* block, float* out) {
  const std::byte* codes = block + 16;
  const float d = load_f16(block + 80);
  const float dmin = load_f16(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int scale = byte_at(block, i / 16);
    // Each half of 128 elements: 32 bytes, two bits per quarter.
    const int q = byte_at(codes, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
    out[i] = d * static_cast<float>(scale & 15) * static_cast<float>(q) -
             dmin * static_cast<float>(scale >> 4);
  }
}

void decode_q3_k(const std::byte* block, float* out) {
  const std::byte* codes = block + 32;
  const float d = load_f16(block + 108);
  int scales[16];
  unpack_scales_q3(block + 96, scales);
  for (int i = 0; i < 256; ++i) {
    const int low = byte_at(codes, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
    const int high = byte_at(block, i % 32) >> (i / 32) & 1;
    out[i] = d * static_cast<float>(scales[i / 16]) * static_cast<float>(low - (high == 0 ? 4 : 0));
  }
}

void decode_q4_k(const std::byte* block, float* out) {
  const float d = load_f16(block);
  const float dmin = load_f16(block + 2);
  const ScalesAndMinimums scales = unpack_scales_k4(block + 4);
  const std::byte* nibbles = block + 16;
  for (int i = 0; i < 256; ++i) {
    const int packed = byte_at(nibbles, i / 64 * 32 + i % 32);
    const int q = i % 64 < 32 ? packed & 15 : packed >> 4;
    out[i] = d * static_cast<float>(scales.scale[i / 32]) * static_cast<float>(q) -
             dmin * static_cast<float>(scales.minimum[i / 32]);
  }
}

void decode_q5_k(const std::byte* block, float* out) {
  const float d = load_f16(block);
  const float dmin = load_f16(block + 2);
  const ScalesAndMinimums scales = unpack_scales_k4(block + 4);
  const std::byte* fifth = block + 16;
  const std::byte* nibbles = block + 48;
  for (int i = 0; i < 256; ++i) {
    const int packed = byte_at(nibbles, i / 64 * 32 + i % 32);
    const int low = i % 64 < 32 ? packed & 15 : packed >> 4;
    const int q = low | (byte_at(fifth, i % 32) >> (i / 32) & 1) << 4;
    out[i] = d * static_cast<float>(scales.scale[i / 32]) * static_cast<float>(q) -
             dmin * static_cast<float>(scales.minimum[i / 32]);
  }
}

void decode_q6_k(const std::byte* block, float* out) {
  const float d = load_f16(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int packed = byte_at(block, half * 64 + i % 64);
    const int low = i % 128 < 64 ? packed & 15 : packed >> 4;
    const int high = byte_at(block, 128 + half * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
    const auto scale = load<int8_t>(block + 192 + i / 16);
    out[i] = d * static_cast<float>(scale) * static_cast<float>((low | high << 4) - 32);
  }
}

void decode_iq4_xs(const std::byte* block, float* out) {
  const float d = load_f16(block);
  const auto high_scales = load<uint16_t>(block + 2);
  const std::byte* nibbles = block + 8;
  for (int i = 0; i < 256; ++i) {
    const int sub = i / 32;
    const int low = byte_at(block, 4 + sub / 2) >> (sub % 2 * 4) & 15;
    const int scale = (low | (high_scales >> (2 * sub) & 3) << 4) - 32;
    const int packed = byte_at(nibbles, sub * 16 + i % 16);
    const int q = i % 32 < 16 ? packed & 15 : packed >> 4;
    out[i] =
        d * static_cast<float>(scale) * static_cast<float>(kNonLinear4[static_cast<size_t>(q)]);
  }
}

}  // namespace adze::codecs
