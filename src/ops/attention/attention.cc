#include "ops/attention/attention.h"

#include <cstring>

#include "tensor/dtype.h"

namespace adze::ops {

const AttentionKernels& attention_kernels(Isa isa) {
  if (isa == Isa::kAvx512) return kAttentionAvx512;
  return isa == Isa::kAvx2 ? kAttentionAvx2 : kAttentionReference;
}

std::string_view cache_dtype_name(CacheDType dtype) {
  return dtype == CacheDType::kF32 ? "f32" : "bf16";
}

std::optional<CacheDType> cache_dtype_from_name(std::string_view name) {
  for (const CacheDType dtype : {CacheDType::kF32, CacheDType::kBF16}) {
    if (cache_dtype_name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

void write_kv(const CacheLayout& layout, std::byte* block, int32_t slot, const float* keys,
              const float* values) {
  const int32_t dims = layout.head_dim;
  for (int32_t head = 0; head < layout.kv_heads; ++head) {
    std::byte* key_base = block + layout.head_bytes() * static_cast<size_t>(head);
    std::byte* value_base = key_base + layout.keys_bytes();
    if (layout.dtype == CacheDType::kF32) {
      auto* key_out = reinterpret_cast<float*>(key_base) + slot;
      for (int32_t d = 0; d < dims; ++d) key_out[d * kCacheTokens] = keys[d];
      std::memcpy(value_base + static_cast<size_t>(slot * dims) * 4, values,
                  static_cast<size_t>(dims) * 4);
    } else {
      auto* key_out = reinterpret_cast<uint16_t*>(key_base) + 2 * slot;
      auto* value_out = reinterpret_cast<uint16_t*>(value_base) + slot / 2 * 2 * dims + slot % 2;
      for (int32_t d = 0; d < dims; ++d) {
        key_out[d / 2 * 2 * kCacheTokens + d % 2] = f32_to_bf16(keys[d]);
        value_out[2 * d] = f32_to_bf16(values[d]);
      }
    }
    keys += dims;
    values += dims;
  }
}

}  // namespace adze::ops
