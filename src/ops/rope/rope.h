// Rotary position embedding (Su et al., RoFormer, 2021) in the half-split convention: dimension i
// is paired with i + rotary_dim/2. Checkpoints in the interleaved convention are permuted when
// loaded.
//
// There is one implementation, without fused multiply-adds: the same bits on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention/cache_layout.h"

namespace adze::ops {

// The angles of one model: pair i turns by position · theta^(−2i / rotary_dim) / factor[i],
// computed in double precision. Immutable, thread-safe.
class Rope {
 public:
  // rotary_dim: even, ≥ 2. factors: none, or rotary_dim / 2 positive numbers (Llama 3's and
  // LongRoPE's frequency factors; for linear position scaling all are alike). magnitude scales
  // cosines and sines (YaRN's attention factor).
  Rope(int rotary_dim, double theta, std::span<const float> factors = {}, double magnitude = 1);

  int rotary_dim() const { return rotary_dim_; }

  // A position's cosines, then its sines: row[rotary_dim]. It serves all heads and layers, so
  // compute it once per row of a batch.
  void fill(int32_t position, float* row) const;

 private:
  int rotary_dim_;
  double magnitude_;
  std::vector<double> frequencies_;
};

// Rotates a token's heads, x[heads][head_dim], by a row of Rope::fill; dimensions from rotary_dim ≤
// head_dim on are copied. `out` may be `x`, else they do not overlap. Thread-safe.
void rotate(std::span<const float> row, const float* x, int heads, int head_dim, float* out);

// Rotates a token's keys and writes them with its values into a cache block, as write_kv. `rotated`
// is scratch of kv_heads · head_dim floats, and may be `keys`. Threads may write different slots at
// once.
void rotate_write_kv(std::span<const float> row, const CacheLayout& layout, std::byte* block,
                     int slot, const float* keys, const float* values, float* rotated);

}  // namespace adze::ops
