// Partial results of segments become a row's result, written once over the lanes of ops/simd.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/attention/visible.h"
#include "ops/simd/exp.h"

namespace adze::ops::generic {

// Sixteen rows at a time: a lane is a row while their exponentials are computed.
template <class V>
void fold(const AttentionTile& tile, int32_t segment, const float* partials, size_t stride,
          float* sums, size_t sums_stride) {
  const int32_t head_dim = tile.layout->head_dim;
  for (size_t begin = 0; begin < tile.rows.size(); begin += 16) {
    const size_t count = tile.rows.size() - begin < 16 ? tile.rows.size() - begin : 16;
    bool sees[16] = {};
    alignas(64) float before[16] = {};
    alignas(64) float next[16] = {};
    for (size_t r = 0; r < count; ++r) {
      sees[r] = sees_segment<V>(tile.rows[begin + r], segment);
      if (!sees[r]) continue;
      before[r] = sums[(begin + r) * sums_stride];
      next[r] = partials[(begin + r) * stride];
    }
    const typename V::F highest = V::max(V::load(before), V::load(next));
    alignas(64) float maxima[16];
    alignas(64) float keep[16];
    alignas(64) float take[16];
    V::store(maxima, highest);
    V::store(keep, simd::exp<V>(V::sub(V::load(before), highest)));
    V::store(take, simd::exp<V>(V::sub(V::load(next), highest)));
    for (size_t r = 0; r < count; ++r) {
      if (!sees[r]) continue;
      const float* partial = partials + (begin + r) * stride;
      float* sum = sums + (begin + r) * sums_stride;
      sum[0] = maxima[r];
      const float kept = sum[1] * keep[r];
      sum[1] = __builtin_fmaf(partial[1], take[r], kept);
      for (int32_t d = 2; d < head_dim + 2; d += 16) {
        const typename V::F kept_values = V::mul(V::load(sum + d), V::broadcast(keep[r]));
        V::store(sum + d, V::fma(V::load(partial + d), V::broadcast(take[r]), kept_values));
      }
    }
  }
}

template <class V>
void finish(const AttentionTile& tile, const float* sums, size_t sums_stride) {
  for (const AttentionRow& row : tile.rows) {
    const typename V::F inverse = V::broadcast(1.0f / sums[1]);
    for (int32_t d = 0; d < tile.layout->head_dim; d += 16) {
      V::store(row.out + d, V::mul(V::load(sums + 2 + d), inverse));
    }
    sums += sums_stride;
  }
}

}  // namespace adze::ops::generic
