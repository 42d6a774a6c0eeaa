#include "ops/attention/cache_layout.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace adze::ops {
namespace {

constexpr size_t kTokens = kCacheBlockTokens;

size_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 4;
    case DType::kBF16:
      return 2;
    case DType::kI8:
      return 1;
    default:
      throw_unsupported("a cache of type {} is not supported (F32, BF16, I8 are)",
                        dtype_info(dtype).name);
  }
}

void write_f32(std::byte* head, size_t values_offset, size_t dim, size_t padded, size_t slot,
               const float* keys, const float* values) {
  float* packed_keys = reinterpret_cast<float*>(head);
  float* packed_values = reinterpret_cast<float*>(head + values_offset);
  for (size_t d = 0; d < dim; ++d) packed_keys[d * kTokens + slot] = keys[d];
  std::copy_n(values, dim, packed_values + slot * padded);
}

void write_bf16(std::byte* head, size_t values_offset, size_t dim, size_t padded, size_t slot,
                const float* keys, const float* values) {
  uint16_t* packed_keys = reinterpret_cast<uint16_t*>(head);
  uint16_t* packed_values = reinterpret_cast<uint16_t*>(head + values_offset);
  for (size_t d = 0; d < dim; ++d) {
    packed_keys[(d / 2 * kTokens + slot) * 2 + d % 2] = f32_to_bf16(keys[d]);
    packed_values[(slot / 2 * padded + d) * 2 + slot % 2] = f32_to_bf16(values[d]);
  }
}

struct Int8Scale {
  float scale;    // code → value
  float inverse;  // value → code
};

// A row below the smallest normal number, whose inverse would overflow, is zero.
Int8Scale int8_scale(const float* row, size_t dim) {
  float largest = 0;
  for (size_t d = 0; d < dim; ++d) largest = std::max(largest, std::fabs(row[d]));
  const float scale = largest / 127.0f;
  if (!(scale >= std::numeric_limits<float>::min())) return {0, 0};
  return {scale, 1.0f / scale};
}

int int8_code(float value, float inverse) {
  return static_cast<int>(std::clamp(std::lrint(value * inverse), -127L, 127L));
}

void write_i8(std::byte* head, size_t values_offset, size_t dim, size_t padded, size_t slot,
              const float* keys, const float* values) {
  uint8_t* packed_keys = reinterpret_cast<uint8_t*>(head);
  int8_t* packed_values = reinterpret_cast<int8_t*>(head + values_offset);
  float* scales = reinterpret_cast<float*>(head + 2 * values_offset);
  const Int8Scale key_scale = int8_scale(keys, dim);
  const Int8Scale value_scale = int8_scale(values, dim);
  scales[slot] = key_scale.scale;
  scales[kTokens + slot] = value_scale.scale;
  for (size_t d = 0; d < dim; ++d) {
    packed_keys[(d / 4 * kTokens + slot) * 4 + d % 4] =
        static_cast<uint8_t>(128 + int8_code(keys[d], key_scale.inverse));
    packed_values[(slot / 4 * padded + d) * 4 + slot % 4] =
        static_cast<int8_t>(int8_code(values[d], value_scale.inverse));
  }
}

}  // namespace

CacheLayout::CacheLayout(int kv_heads, int head_dim, DType dtype)
    : kv_heads_(kv_heads),
      head_dim_(head_dim),
      padded_dim_((head_dim + 15) / 16 * 16),
      dtype_(dtype),
      values_offset_(kTokens * static_cast<size_t>(padded_dim_) * element_bytes(dtype)),
      head_bytes_(2 * values_offset_ + (dtype == DType::kI8 ? 2 * kTokens * sizeof(float) : 0)) {
  assert(kv_heads >= 1 && head_dim >= 1);
}

void write_kv(const CacheLayout& layout, std::byte* block, int slot, const float* keys,
              const float* values) {
  assert(slot >= 0 && slot < kCacheBlockTokens);
  assert(reinterpret_cast<uintptr_t>(block) % kCacheBlockAlignment == 0);
  const auto write = layout.dtype() == DType::kF32    ? write_f32
                     : layout.dtype() == DType::kBF16 ? write_bf16
                                                      : write_i8;
  const size_t dim = static_cast<size_t>(layout.head_dim());
  for (int head = 0; head < layout.kv_heads(); ++head) {
    write(block + layout.head_offset(head), layout.values_offset(), dim,
          static_cast<size_t>(layout.padded_dim()), static_cast<size_t>(slot),
          keys + static_cast<size_t>(head) * dim, values + static_cast<size_t>(head) * dim);
  }
}

}  // namespace adze::ops
