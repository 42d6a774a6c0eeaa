// The 256-element types: sub-blocks of 16 or 32 elements with small integer scales under one or two
// 16-bit floats.
#include <cstdint>

#include "tensor/codecs.h"
#include "tensor/codecs_internal.h"

namespace adze::codecs {
namespace {

int byte_at(const std::byte* bytes, int i) { return std::to_integer<int>(bytes[i]); }

// Element i of 128 whose two bits lie in 32 bytes, a quarter of the elements per bit pair.
int16_t two_bits(const std::byte* bytes, int i) {
  return static_cast<int16_t>(byte_at(bytes, i % 32) >> (i / 32 * 2) & 3);
}

// Element i of 256: per 64 elements 32 bytes, low nibbles first.
int16_t nibble_of_64(const std::byte* nibbles, int i) {
  const int packed = byte_at(nibbles, i / 64 * 32 + i % 32);
  return static_cast<int16_t>(i % 64 < 32 ? packed & 15 : packed >> 4);
}

// Q4_K and Q5_K begin alike: d, dmin and twelve bytes of scales.
void split_scales_k4(const std::byte* block, BlockParts& parts) {
  const float d = load_f16(block);
  const float dmin = load_f16(block + 2);
  const ScalesAndMinimums scales = unpack_scales_k4(block + 4);
  for (int g = 0; g < 8; ++g) {
    parts.scale[g] = d * static_cast<float>(scales.scale[g]);
    parts.minimum[g] = -(dmin * static_cast<float>(scales.minimum[g]));
  }
}

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

void split_q2_k(const std::byte* block, BlockParts& parts) {
  const std::byte* codes = block + 16;
  const float d = load_f16(block + 80);
  const float dmin = load_f16(block + 82);
  for (int g = 0; g < 16; ++g) {
    parts.scale[g] = d * static_cast<float>(byte_at(block, g) & 15);
    parts.minimum[g] = -(dmin * static_cast<float>(byte_at(block, g) >> 4));
  }
  // Each half of 128 elements: 32 bytes, two bits per quarter.
  for (int i = 0; i < 256; ++i) parts.codes[i] = two_bits(codes + i / 128 * 32, i % 128);
}

void split_q3_k(const std::byte* block, BlockParts& parts) {
  const std::byte* codes = block + 32;
  const float d = load_f16(block + 108);
  int scales[16];
  unpack_scales_q3(block + 96, scales);
  for (int g = 0; g < 16; ++g) parts.scale[g] = d * static_cast<float>(scales[g]);
  for (int i = 0; i < 256; ++i) {
    const int high = byte_at(block, i % 32) >> (i / 32) & 1;
    parts.codes[i] =
        static_cast<int16_t>(two_bits(codes + i / 128 * 32, i % 128) - (high == 0 ? 4 : 0));
  }
}

void split_q4_k(const std::byte* block, BlockParts& parts) {
  split_scales_k4(block, parts);
  const std::byte* nibbles = block + 16;
  for (int i = 0; i < 256; ++i) parts.codes[i] = nibble_of_64(nibbles, i);
}

void split_q5_k(const std::byte* block, BlockParts& parts) {
  split_scales_k4(block, parts);
  const std::byte* fifth = block + 16;
  const std::byte* nibbles = block + 48;
  for (int i = 0; i < 256; ++i) {
    const int high = byte_at(fifth, i % 32) >> (i / 32) & 1;
    parts.codes[i] = static_cast<int16_t>(nibble_of_64(nibbles, i) | high << 4);
  }
}

void split_q6_k(const std::byte* block, BlockParts& parts) {
  const float d = load_f16(block + 208);
  for (int g = 0; g < 16; ++g) {
    parts.scale[g] = d * static_cast<float>(load<int8_t>(block + 192 + g));
  }
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int packed = byte_at(block, half * 64 + i % 64);
    const int low = i % 128 < 64 ? packed & 15 : packed >> 4;
    const int high = two_bits(block + 128 + half * 32, i % 128);
    parts.codes[i] = static_cast<int16_t>((low | high << 4) - 32);
  }
}

void split_iq4_xs(const std::byte* block, BlockParts& parts) {
  const float d = load_f16(block);
  const auto high_scales = load<uint16_t>(block + 2);
  const std::byte* nibbles = block + 8;
  for (int g = 0; g < 8; ++g) {
    const int low = byte_at(block, 4 + g / 2) >> (g % 2 * 4) & 15;
    parts.scale[g] = d * static_cast<float>((low | (high_scales >> (2 * g) & 3) << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int packed = byte_at(nibbles, i / 32 * 16 + i % 16);
    parts.codes[i] = kNonLinear4[static_cast<size_t>(i % 32 < 16 ? packed & 15 : packed >> 4)];
  }
}

}  // namespace adze::codecs
