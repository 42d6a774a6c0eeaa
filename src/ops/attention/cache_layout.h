// The bytes of a cache block: one layer's keys and values of 32 tokens, packed for the attention
// kernels when they are written and never repacked. Everything above sees opaque bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace adze::ops {

inline constexpr int kCacheBlockTokens = 32;
inline constexpr size_t kCacheBlockAlignment = 64;

// Where the elements of a block are. A block is kv_heads × [keys | values | scales]; D is head_dim
// rounded up to 16 (the padding stays zero), t a token's slot 0–31, d a dimension:
//   F32   keys   float[D][32]               element [d][t]
//         values float[32][D]               element [t][d]
//   BF16  keys   bf16[D/2][32][2]           element [d/2][t][d%2]
//         values bf16[16][D][2]             element [t/2][d][t%2]
//   I8    keys   u8[D/4][32][4]             element [d/4][t][d%4], 128 + code
//         values s8[8][D][4]                element [t/4][d][t%4], code
//         scales float[2][32]               of keys, of values; element = code · scale[t], |code| ≤
//         127
// Blocks are aligned to 64 bytes and must be zeroed before their first use: masked positions are
// multiplied by zero, not skipped, so that a row's result does not depend on its neighbours.
class CacheLayout {
 public:
  // kv_heads, head_dim ≥ 1; dtype F32, BF16 or I8, others throw Error{kUnsupported}.
  CacheLayout(int kv_heads, int head_dim, DType dtype);

  int kv_heads() const { return kv_heads_; }
  int head_dim() const { return head_dim_; }
  int padded_dim() const { return padded_dim_; }  // D above
  DType dtype() const { return dtype_; }

  size_t block_bytes() const { return head_bytes_ * static_cast<size_t>(kv_heads_); }
  // Offsets of a head within a block, and of its parts within the head.
  size_t head_offset(int head) const { return head_bytes_ * static_cast<size_t>(head); }
  size_t keys_offset() const { return 0; }
  size_t values_offset() const { return values_offset_; }
  size_t scales_offset() const { return 2 * values_offset_; }  // I8 only

 private:
  int kv_heads_;
  int head_dim_;
  int padded_dim_;
  DType dtype_;
  size_t values_offset_;
  size_t head_bytes_;
};

// Writes one token's keys and values, float[kv_heads][head_dim] each, into slot 0–31 of a block,
// rounding to nearest even (I8: to the token's and head's own scale, its largest magnitude over
// 127). No two tokens share a byte: different threads may write different slots of one block at
// once.
void write_kv(const CacheLayout& layout, std::byte* block, int slot, const float* keys,
              const float* values);

}  // namespace adze::ops
