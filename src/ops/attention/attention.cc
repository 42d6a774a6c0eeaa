#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/dtype.h"

namespace adze::ops {

const AttentionKernels& attention_kernels(Isa isa) {
  if (isa == Isa::kAvx512) return kAttentionAvx512;
  return isa == Isa::kAvx2 ? kAttentionAvx2 : kAttentionReference;
}

std::string_view cache_dtype_name(CacheDType dtype) {
  return dtype == CacheDType::kF32 ? "f32" : dtype == CacheDType::kBF16 ? "bf16" : "int8";
}

std::optional<CacheDType> cache_dtype_from_name(std::string_view name) {
  for (const CacheDType dtype : {CacheDType::kF32, CacheDType::kBF16, CacheDType::kI8}) {
    if (cache_dtype_name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

namespace {

void write_f32(int32_t dims, int32_t slot, const float* keys, const float* values,
               std::byte* key_base, std::byte* value_base) {
  auto* key_out = reinterpret_cast<float*>(key_base) + slot;
  for (int32_t d = 0; d < dims; ++d) key_out[d * kCacheTokens] = keys[d];
  std::memcpy(value_base + static_cast<size_t>(slot * dims) * 4, values,
              static_cast<size_t>(dims) * 4);
}

void write_bf16(int32_t dims, int32_t slot, const float* keys, const float* values,
                std::byte* key_base, std::byte* value_base) {
  auto* key_out = reinterpret_cast<uint16_t*>(key_base) + 2 * slot;
  auto* value_out = reinterpret_cast<uint16_t*>(value_base) + slot / 2 * 2 * dims + slot % 2;
  for (int32_t d = 0; d < dims; ++d) {
    key_out[d / 2 * 2 * kCacheTokens + d % 2] = f32_to_bf16(keys[d]);
    value_out[2 * d] = f32_to_bf16(values[d]);
  }
}

// The scale and its inverse; a row whose inverse would overflow is zero.
struct Int8Scale {
  float scale = 0;
  float inverse = 0;
};
Int8Scale int8_scale(const float* row, int32_t dims) {
  float largest = 0;
  for (int32_t d = 0; d < dims; ++d) largest = std::max(largest, std::fabs(row[d]));
  const float scale = largest / 127.0f;
  if (!(scale >= std::numeric_limits<float>::min())) return {};
  return {scale, 1.0f / scale};
}

int int8_code(float value, float inverse) {
  return static_cast<int>(std::clamp(std::lrint(value * inverse), -127L, 127L));
}

void write_i8(int32_t dims, int32_t slot, const float* keys, const float* values,
              std::byte* key_base, std::byte* value_base) {
  auto* key_out = reinterpret_cast<uint8_t*>(key_base) + 4 * slot;
  auto* value_out = reinterpret_cast<int8_t*>(value_base) + slot / 4 * 4 * dims + slot % 4;
  const size_t bytes = static_cast<size_t>(kCacheTokens) * static_cast<size_t>(dims);
  auto* scales = reinterpret_cast<float*>(value_base + bytes);
  const Int8Scale key_scale = int8_scale(keys, dims);
  const Int8Scale value_scale = int8_scale(values, dims);
  scales[slot] = key_scale.scale;
  scales[kCacheTokens + slot] = value_scale.scale;
  for (int32_t d = 0; d < dims; ++d) {
    key_out[d / 4 * 4 * kCacheTokens + d % 4] =
        static_cast<uint8_t>(128 + int8_code(keys[d], key_scale.inverse));
    value_out[4 * d] = static_cast<int8_t>(int8_code(values[d], value_scale.inverse));
  }
}

}  // namespace

void write_kv(const CacheLayout& layout, std::byte* block, int32_t slot, const float* keys,
              const float* values) {
  const auto write = layout.dtype == CacheDType::kF32    ? write_f32
                     : layout.dtype == CacheDType::kBF16 ? write_bf16
                                                         : write_i8;
  for (int32_t head = 0; head < layout.kv_heads; ++head) {
    std::byte* key_base = block + layout.head_bytes() * static_cast<size_t>(head);
    write(layout.head_dim, slot, keys, values, key_base, key_base + layout.keys_bytes());
    keys += layout.head_dim;
    values += layout.head_dim;
  }
}

}  // namespace adze::ops
