// Element types, including the block-quantized ones of GGUF, and their exact decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace adze {

// Storage types of tensors. Block types hold `block_elements` consecutive elements of the innermost
// dimension in `block_bytes` bytes; plain types are blocks of one.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kI8,
  kI16,
  kI32,
  kI64,
  kF64,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::kMXFP4) + 1;

struct DTypeInfo {
  DType dtype;
  std::string_view name;    // GGUF's spelling, "Q4_K"
  uint32_t block_elements;  // elements per block
  uint32_t block_bytes;     // bytes per block
};

const DTypeInfo& dtype_info(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

// A block of a quantized type taken apart: element = scale[g] · code (+ minimum[g] where the type
// has minimums), rounded after the product and after the sum, g = element / group.
struct BlockParts {
  int16_t codes[256];
  float scale[16];
  float minimum[16];
};
// Elements that share a scale; 0 for plain types.
int scale_group(DType dtype);
bool has_minimum(DType dtype);
// `block` has the type's block_bytes; only for types with a scale_group().
void split_block(DType dtype, const std::byte* block, BlockParts& parts);

// The integers behind Q4_K's scales: scale[g] = d · sub_scale[g], minimum[g] = −dmin ·
// sub_minimum[g].
struct SubScales {
  uint16_t d;     // f16
  uint16_t dmin;  // f16
  uint8_t sub_scale[8];
  uint8_t sub_minimum[8];
};
SubScales q4_k_sub_scales(const std::byte* block);

// Decodes whole blocks to float32 exactly as the type's definition says (the integer types
// convert). `blocks` holds n blocks and `out` n × block_elements floats. Bytes are little-endian,
// of any alignment. Thread-safe.
void decode(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

// Encodes float32 by round-to-nearest; sizes as in decode(). Types: F32, F16, BF16, Q4_0, Q4_1,
// Q8_0, with the reference quantizers' choice of scale; others throw Error{kUnsupported}. NaN and
// infinity are kept by the float types and throw Error{kInvalidInput} for the quantized ones.
void encode(DType dtype, std::span<const float> values, std::span<std::byte> blocks);

// Scalar conversions, round to nearest even; NaN stays NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

}  // namespace adze
