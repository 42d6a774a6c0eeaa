#include "tensor/dtype.h"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/codecs.h"

namespace adze {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kInfos = {{
    {DType::kF32, "F32", 1, 4},         {DType::kF16, "F16", 1, 2},
    {DType::kBF16, "BF16", 1, 2},       {DType::kI8, "I8", 1, 1},
    {DType::kI16, "I16", 1, 2},         {DType::kI32, "I32", 1, 4},
    {DType::kI64, "I64", 1, 8},         {DType::kF64, "F64", 1, 8},
    {DType::kQ4_0, "Q4_0", 32, 18},     {DType::kQ4_1, "Q4_1", 32, 20},
    {DType::kQ5_0, "Q5_0", 32, 22},     {DType::kQ5_1, "Q5_1", 32, 24},
    {DType::kQ8_0, "Q8_0", 32, 34},     {DType::kQ2_K, "Q2_K", 256, 84},
    {DType::kQ3_K, "Q3_K", 256, 110},   {DType::kQ4_K, "Q4_K", 256, 144},
    {DType::kQ5_K, "Q5_K", 256, 176},   {DType::kQ6_K, "Q6_K", 256, 210},
    {DType::kIQ4_NL, "IQ4_NL", 32, 18}, {DType::kIQ4_XS, "IQ4_XS", 256, 136},
    {DType::kMXFP4, "MXFP4", 32, 17},
}};

// How a type decodes: plain types one element at a time, quantized ones by taking blocks apart.
struct Codec {
  void (*decode_element)(const std::byte* block, float* out) = nullptr;
  void (*split)(const std::byte* block, BlockParts& parts) = nullptr;
  int group = 0;
  bool minimum = false;
};

constexpr std::array<Codec, kDTypeCount> kCodecs = {{
    {codecs::decode_f32},
    {codecs::decode_f16},
    {codecs::decode_bf16},
    {codecs::decode_i8},
    {codecs::decode_i16},
    {codecs::decode_i32},
    {codecs::decode_i64},
    {codecs::decode_f64},
    {nullptr, codecs::split_q4_0, 32, false},
    {nullptr, codecs::split_q4_1, 32, true},
    {nullptr, codecs::split_q5_0, 32, false},
    {nullptr, codecs::split_q5_1, 32, true},
    {nullptr, codecs::split_q8_0, 32, false},
    {nullptr, codecs::split_q2_k, 16, true},
    {nullptr, codecs::split_q3_k, 16, false},
    {nullptr, codecs::split_q4_k, 32, true},
    {nullptr, codecs::split_q5_k, 32, true},
    {nullptr, codecs::split_q6_k, 16, false},
    {nullptr, codecs::split_iq4_nl, 32, false},
    {nullptr, codecs::split_iq4_xs, 32, false},
    {nullptr, codecs::split_mxfp4, 32, false},
}};

const Codec& codec(DType dtype) { return kCodecs[static_cast<size_t>(dtype)]; }

void decode_block(const DTypeInfo& info, const Codec& with, const std::byte* block, float* out) {
  if (with.split == nullptr) return with.decode_element(block, out);
  BlockParts parts;
  with.split(block, parts);
  const auto group = static_cast<uint32_t>(with.group);
  for (uint32_t i = 0; i < info.block_elements; ++i) {
    out[i] = parts.scale[i / group] * static_cast<float>(parts.codes[i]);
    if (with.minimum) out[i] += parts.minimum[i / group];
  }
}

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

void decode(DType dtype, std::span<const std::byte> blocks, std::span<float> out) {
  const DTypeInfo& info = dtype_info(dtype);
  assert(blocks.size() / info.block_bytes * info.block_elements == out.size());
  if (dtype == DType::kF32) {
    if (!out.empty()) std::memcpy(out.data(), blocks.data(), blocks.size());
    return;
  }
  const size_t count = blocks.size() / info.block_bytes;
  for (size_t i = 0; i < count; ++i) {
    decode_block(info, codec(dtype), blocks.data() + i * info.block_bytes,
                 out.data() + i * info.block_elements);
  }
}

int scale_group(DType dtype) { return codec(dtype).group; }
bool has_minimum(DType dtype) { return codec(dtype).minimum; }

void split_block(DType dtype, const std::byte* block, BlockParts& parts) {
  assert(codec(dtype).split != nullptr);
  codec(dtype).split(block, parts);
}

SubScales q4_k_sub_scales(const std::byte* block) {
  SubScales out;
  std::memcpy(&out.d, block, 2);
  std::memcpy(&out.dmin, block + 2, 2);
  const codecs::ScalesAndMinimums scales = codecs::unpack_scales_k4(block + 4);
  std::memcpy(out.sub_scale, scales.scale, sizeof out.sub_scale);
  std::memcpy(out.sub_minimum, scales.minimum, sizeof out.sub_minimum);
  return out;
}

void encode(DType dtype, std::span<const float> values, std::span<std::byte> blocks) {
  const DTypeInfo& info = dtype_info(dtype);
  assert(blocks.size() / info.block_bytes * info.block_elements == values.size());
  void (*encode_block)(const float*, std::byte*) = nullptr;
  switch (dtype) {
    case DType::kF32:
      encode_block = codecs::encode_f32;
      break;
    case DType::kF16:
      encode_block = codecs::encode_f16;
      break;
    case DType::kBF16:
      encode_block = codecs::encode_bf16;
      break;
    case DType::kQ4_0:
      encode_block = codecs::encode_q4_0;
      break;
    case DType::kQ4_1:
      encode_block = codecs::encode_q4_1;
      break;
    case DType::kQ8_0:
      encode_block = codecs::encode_q8_0;
      break;
    default:
      throw_unsupported("encoding to {} is not supported", info.name);
  }
  if (info.block_elements > 1) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        throw_invalid("element {} is {}: {} holds finite values only", i, values[i], info.name);
      }
    }
  }
  for (size_t i = 0; i < values.size() / info.block_elements; ++i) {
    encode_block(values.data() + i * info.block_elements, blocks.data() + i * info.block_bytes);
  }
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) {
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  }
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN: quiet, upper payload kept
    return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 aligns the mantissa and rounds to even
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace adze
