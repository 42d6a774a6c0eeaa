// The attention kernels, written once over the lanes of ops/simd: float and bf16 caches, and what
// all caches share. segment.h puts the parts together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/attention/visible.h"
#include "ops/simd/exp.h"

namespace adze::ops::generic {

template <class V>
inline const std::byte* head_base(const AttentionTile& tile, int32_t block) {
  return tile.blocks[static_cast<size_t>(block)] + tile.layer_offset +
         tile.layout->head_bytes() * static_cast<size_t>(tile.kv_head);
}

// Scores of R rows against the 16 tokens that begin at `lane` of a block; one fma per dimension,
// ascending.
template <class V, int R>
inline void score_lanes(const AttentionTile& tile, const std::byte* head, int lane,
                        const AttentionRow* rows, typename V::F* score) {
  for (int r = 0; r < R; ++r) score[r] = V::zero();
  const int32_t dims = tile.layout->head_dim;
  if (tile.layout->dtype == CacheDType::kF32) {
    const auto* keys = reinterpret_cast<const float*>(head) + lane;
    for (int32_t d = 0; d < dims; ++d) {
      const typename V::F k = V::load(keys + d * kCacheTokens);
      for (int r = 0; r < R; ++r) score[r] = V::fma(V::broadcast(rows[r].query[d]), k, score[r]);
    }
  } else {
    const auto* keys = reinterpret_cast<const uint32_t*>(head) + lane;
    for (int32_t d = 0; d < dims; d += 2) {
      typename V::F first;
      typename V::F second;
      V::load_bf16_pairs(keys + d / 2 * kCacheTokens, first, second);
      for (int r = 0; r < R; ++r) {
        score[r] = V::fma(V::broadcast(rows[r].query[d]), first, score[r]);
        score[r] = V::fma(V::broadcast(rows[r].query[d + 1]), second, score[r]);
      }
    }
  }
}

// Two tokens' values for the 16 dimensions that begin at `dim`; `token` is even.
template <class V>
inline void load_values(const AttentionTile& tile, const std::byte* head, int32_t token,
                        int32_t dim, typename V::F& first, typename V::F& second) {
  const int32_t dims = tile.layout->head_dim;
  const std::byte* values = head + tile.layout->keys_bytes();
  if (tile.layout->dtype == CacheDType::kF32) {
    const auto* floats = reinterpret_cast<const float*>(values) + token * dims + dim;
    first = V::load(floats);
    second = V::load(floats + dims);
  } else {
    V::load_bf16_pairs(reinterpret_cast<const uint32_t*>(values) + token / 2 * dims + dim, first,
                       second);
  }
}

// Adds the weighted values of the 16 tokens of group `group` of the segment, for the 16 dimensions
// that begin at `dim`: one fma per token that a row sees, ascending.
template <class V, int R>
inline void weigh_values(const AttentionTile& tile, const std::byte* head,
                         const Visible<V, R>& visible, int group, int32_t dim, const float* weights,
                         typename V::F* acc) {
  const int32_t token = group * 16;
  for (int i = 0; i < 16; i += 2) {
    if ((visible.any[group] >> i & 3) == 0) continue;
    typename V::F first;
    typename V::F second;
    load_values<V>(tile, head, (token + i) % kCacheTokens, dim, first, second);
    const bool together = (visible.all[group] >> i & 3) == 3;
    for (int r = 0; r < R; ++r) {
      const float* weight = weights + r * kSegmentTokens + token + i;
      const int seen = together ? 3 : visible.lanes[r][group] >> i & 3;
      if ((seen & 1) != 0) acc[r] = V::fma(V::broadcast(weight[0]), first, acc[r]);
      if ((seen & 2) != 0) acc[r] = V::fma(V::broadcast(weight[1]), second, acc[r]);
    }
  }
}

// The same where every row sees all of them.
template <class V, int R>
inline void weigh_all_values(const AttentionTile& tile, const std::byte* head, int group,
                             int32_t dim, const float* weights, typename V::F* acc) {
  const int32_t token = group * 16;
  for (int i = 0; i < 16; i += 2) {
    typename V::F first;
    typename V::F second;
    load_values<V>(tile, head, (token + i) % kCacheTokens, dim, first, second);
    for (int r = 0; r < R; ++r) {
      const float* weight = weights + r * kSegmentTokens + token + i;
      acc[r] = V::fma(V::broadcast(weight[0]), first, acc[r]);
      acc[r] = V::fma(V::broadcast(weight[1]), second, acc[r]);
    }
  }
}

// One row's scores [256] to weights exp(score − maximum), in place, in every group of 16 tokens of
// which it sees one; writes maximum and sum to the partial. Lanes that it does not see win no
// maximum and get the weight 0.
template <class V>
inline void softmax_weights(float* scores, const uint16_t* lanes, float* partial) {
  constexpr float kNone = -__builtin_huge_valf();
  typename V::F highest = V::broadcast(kNone);
  for (int g = 0; g < kSegmentGroups; ++g) {
    if (lanes[g] == 0) continue;
    fill_unseen<V>(scores + g * 16, lanes[g], kNone);
    highest = V::max(highest, V::load(scores + g * 16));
  }
  const float maximum = V::maximum(highest);
  typename V::F sum = V::zero();
  for (int g = 0; g < kSegmentGroups; ++g) {
    if (lanes[g] == 0) continue;
    float* group = scores + g * 16;
    V::store(group, simd::exp<V>(V::sub(V::load(group), V::broadcast(maximum))));
    fill_unseen<V>(group, lanes[g], 0.0f);
    sum = V::add(sum, V::load(group));
  }
  partial[0] = maximum;
  partial[1] = V::sum(sum);
}

template <class V, int R>
inline void segment_rows(const AttentionTile& tile, const AttentionRow* rows, int32_t segment,
                         float* partials, size_t stride) {
  alignas(64) float scores[R * kSegmentTokens];
  const Visible<V, R> visible(rows, R, segment * kSegmentTokens);
  const auto head_of = [&](int group) {
    return head_base<V>(tile, (segment * kSegmentTokens + group * 16) / kCacheTokens);
  };
  const typename V::F scale = V::broadcast(tile.scale);
  for (int g = 0; g < kSegmentGroups; ++g) {
    if (visible.any[g] == 0) continue;
    typename V::F score[R];
    score_lanes<V, R>(tile, head_of(g), g * 16 % kCacheTokens, rows, score);
    for (int r = 0; r < R; ++r) {
      V::store(scores + r * kSegmentTokens + g * 16, V::mul(score[r], scale));
    }
  }
  for (int r = 0; r < R; ++r) {
    if (visible.sees[r]) {
      softmax_weights<V>(scores + r * kSegmentTokens, visible.lanes[r],
                         partials + static_cast<size_t>(r) * stride);
    }
  }
  for (int32_t dim = 0; dim < tile.layout->head_dim; dim += 16) {
    typename V::F acc[R];
    for (int r = 0; r < R; ++r) acc[r] = V::zero();
    for (int g = 0; g < kSegmentGroups; ++g) {
      if (visible.all[g] == 0xffff) {
        weigh_all_values<V, R>(tile, head_of(g), g, dim, scores, acc);
      } else if (visible.any[g] != 0) {
        weigh_values<V, R>(tile, head_of(g), visible, g, dim, scores, acc);
      }
    }
    for (int r = 0; r < R; ++r) {
      if (visible.sees[r]) V::store(partials + static_cast<size_t>(r) * stride + 2 + dim, acc[r]);
    }
  }
}

}  // namespace adze::ops::generic
