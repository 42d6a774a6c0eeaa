// How keys and values lie in a cache block: for the attention kernels, packed when written, never
// repacked.
//
// A block holds 32 tokens of one layer: for every key head its keys, then its values.
//
//   f32   keys [head_dim][32 tokens], values [32 tokens][head_dim]
//   bf16  keys [head_dim / 2][32 tokens][2], values [32 / 2 tokens][head_dim][2]
//   int8  keys [head_dim / 4][32 tokens][4] as 128 + code, values [32 / 4 tokens][head_dim][4] as
//         signed codes, then float scales of the 32 keys and of the 32 values: an element is code ·
//         scale of its token and head, |code| ≤ 127
//
// No two tokens share a byte: threads may write different slots of a block at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace adze::ops {

inline constexpr int32_t kCacheTokens = 32;       // tokens per block
inline constexpr int32_t kSegmentTokens = 256;    // tokens whose softmax is one partial result
inline constexpr int32_t kMaxInt8HeadDim = 1024;  // of an int8 cache: its sums stay in 32 bits

enum class CacheDType : uint8_t { kF32, kBF16, kI8 };
std::string_view cache_dtype_name(CacheDType dtype);
std::optional<CacheDType> cache_dtype_from_name(std::string_view name);

struct CacheLayout {
  CacheDType dtype = CacheDType::kBF16;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;  // a multiple of 16

  size_t element_bytes() const {
    return dtype == CacheDType::kF32 ? 4 : dtype == CacheDType::kBF16 ? 2 : 1;
  }
  size_t keys_bytes() const {
    return static_cast<size_t>(kCacheTokens) * static_cast<size_t>(head_dim) * element_bytes();
  }
  size_t scales_bytes() const {
    return dtype == CacheDType::kI8 ? 2 * static_cast<size_t>(kCacheTokens) * sizeof(float) : 0;
  }
  size_t head_bytes() const { return 2 * keys_bytes() + scales_bytes(); }
  size_t block_bytes() const { return head_bytes() * static_cast<size_t>(kv_heads); }
};

}  // namespace adze::ops
