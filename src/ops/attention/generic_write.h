// Writing keys and values into a cache block, written once over the lanes of ops/simd.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/simd/extent.h"

namespace adze::ops::generic {

template <class V>
inline void write_f32(int32_t dims, int32_t slot, const float* keys, const float* values,
                      std::byte* key_base, std::byte* value_base) {
  auto* key_out = reinterpret_cast<float*>(key_base) + slot;
  auto* value_out = reinterpret_cast<float*>(value_base) + slot * dims;
  for (int32_t d = 0; d < dims; ++d) key_out[d * kCacheTokens] = keys[d];
  for (int32_t d = 0; d < dims; d += 16) V::store(value_out + d, V::load(values + d));
}

template <class V>
inline void write_bf16(int32_t dims, int32_t slot, const float* keys, const float* values,
                       std::byte* key_base, std::byte* value_base) {
  auto* key_out = reinterpret_cast<uint16_t*>(key_base) + 2 * slot;
  auto* value_out = reinterpret_cast<uint16_t*>(value_base) + slot / 2 * 2 * dims + slot % 2;
  for (int32_t d = 0; d < dims; d += 16) {
    alignas(64) uint16_t key[16];
    alignas(64) uint16_t value[16];
    V::store_bf16(key, V::load(keys + d));
    V::store_bf16(value, V::load(values + d));
    for (int32_t i = 0; i < 16; ++i) {
      key_out[(d + i) / 2 * 2 * kCacheTokens + i % 2] = key[i];
      value_out[2 * (d + i)] = value[i];
    }
  }
}

// A row's scale and what its elements are multiplied by; all codes are zero where that is.
template <class V>
struct RowScale {
  float scale;
  float factor;

  RowScale(const float* row, int32_t dims) {
    simd::Extent<V> extent;
    for (int32_t d = 0; d < dims; d += 16) extent.see(V::load(row + d));
    scale = simd::code_scale(extent, 127.0f);
    factor = simd::code_factor(scale);
  }

  // Codes of 16 elements, |code| ≤ 127.
  void encode(const float* row, int32_t* codes) const {
    if (factor == 0.0f) {
      for (int i = 0; i < 16; ++i) codes[i] = 0;
      return;
    }
    const typename V::F code = V::round(V::mul(V::load(row), V::broadcast(factor)));
    V::store_i32(codes, V::max(V::min(code, V::broadcast(127.0f)), V::broadcast(-127.0f)));
  }
};

template <class V>
inline void write_i8(int32_t dims, int32_t slot, const float* keys, const float* values,
                     std::byte* key_base, std::byte* value_base) {
  auto* key_out = reinterpret_cast<uint8_t*>(key_base) + 4 * slot;
  auto* value_out = reinterpret_cast<int8_t*>(value_base) + slot / 4 * 4 * dims + slot % 4;
  const auto bytes = static_cast<size_t>(kCacheTokens) * static_cast<size_t>(dims);
  auto* scales = reinterpret_cast<float*>(value_base + bytes);
  const RowScale<V> key_scale(keys, dims);
  const RowScale<V> value_scale(values, dims);
  scales[slot] = key_scale.scale;
  scales[kCacheTokens + slot] = value_scale.scale;
  for (int32_t d = 0; d < dims; d += 16) {
    alignas(64) int32_t key[16];
    alignas(64) int32_t value[16];
    key_scale.encode(keys + d, key);
    value_scale.encode(values + d, value);
    for (int32_t i = 0; i < 16; ++i) {
      key_out[(d + i) / 4 * 4 * kCacheTokens + i % 4] = static_cast<uint8_t>(128 + key[i]);
      value_out[4 * (d + i)] = static_cast<int8_t>(value[i]);
    }
  }
}

template <class V>
void write_kv(const CacheLayout& layout, std::byte* block, int32_t slot, const float* keys,
              const float* values) {
  for (int32_t head = 0; head < layout.kv_heads; ++head) {
    std::byte* key_base = block + layout.head_bytes() * static_cast<size_t>(head);
    std::byte* value_base = key_base + layout.keys_bytes();
    if (layout.dtype == CacheDType::kF32) {
      write_f32<V>(layout.head_dim, slot, keys, values, key_base, value_base);
    } else if (layout.dtype == CacheDType::kBF16) {
      write_bf16<V>(layout.head_dim, slot, keys, values, key_base, value_base);
    } else {
      write_i8<V>(layout.head_dim, slot, keys, values, key_base, value_base);
    }
    keys += layout.head_dim;
    values += layout.head_dim;
  }
}

}  // namespace adze::ops::generic
