// The attention kernels, written once over the lanes of ops/simd: float and bf16 caches, and what
// all caches share. segment.h puts the parts together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/simd/exp.h"

namespace adze::ops::generic {

// Keys that R rows see in one segment, as tokens of the segment: row r those from `from[r]` up to
// `to[r]`, none where they are equal.
template <class V, int R>
struct Visible {
  int32_t from[R];
  int32_t to[R];
  int32_t first = kSegmentTokens;  // all rows' keys lie in [first, last)
  int32_t last = 0;
  int32_t common_from = 0;  // every row sees [common_from, common_to), both even
  int32_t common_to = kSegmentTokens;

  Visible(const AttentionRow* rows, int32_t begin) {
    for (int r = 0; r < R; ++r) {
      to[r] = clamp(rows[r].position + 1 - begin);
      from[r] = clamp(rows[r].first - begin);
      if (from[r] > to[r]) from[r] = to[r];
      if (from[r] < to[r]) {
        first = from[r] < first ? from[r] : first;
        last = to[r] > last ? to[r] : last;
      }
      common_from = from[r] > common_from ? from[r] : common_from;
      common_to = to[r] < common_to ? to[r] : common_to;
    }
    common_from = (common_from + 1) / 2 * 2;
    common_to = common_to / 2 * 2;
    if (common_to < common_from) common_to = common_from;
  }

  bool any() const { return first < last; }
  bool any(int r) const { return from[r] < to[r]; }
  // Row r's keys before the common ones are [from[r], this), those behind [common_to, to[r]).
  int32_t before_common(int r) const { return to[r] < common_from ? to[r] : common_from; }

 private:
  static int32_t clamp(int32_t token) {
    return token < 0 ? 0 : token < kSegmentTokens ? token : kSegmentTokens;
  }
};

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

// Weighted values of R rows for the 16 dimensions that begin at `dim`, tokens [from, to) of the
// segment; one fma per token, ascending.
template <class V, int R>
inline void weigh_values(const AttentionTile& tile, int32_t first_block, int32_t dim, int32_t from,
                         int32_t to, const float* weights, size_t weights_stride,
                         typename V::F* acc) {
  const int32_t dims = tile.layout->head_dim;
  for (int32_t t = from; t < to;) {
    const std::byte* head = head_base<V>(tile, first_block + t / kCacheTokens);
    const std::byte* values = head + tile.layout->keys_bytes();
    const int32_t end =
        (t / kCacheTokens + 1) * kCacheTokens < to ? (t / kCacheTokens + 1) * kCacheTokens : to;
    if (tile.layout->dtype == CacheDType::kF32) {
      for (; t < end; ++t) {
        const typename V::F v =
            V::load(reinterpret_cast<const float*>(values) + t % kCacheTokens * dims + dim);
        for (int r = 0; r < R; ++r) {
          const auto index = static_cast<size_t>(r) * weights_stride + static_cast<size_t>(t);
          acc[r] = V::fma(V::broadcast(weights[index]), v, acc[r]);
        }
      }
    } else {
      for (t -= t % 2; t < end; t += 2) {
        typename V::F first;
        typename V::F second;
        V::load_bf16_pairs(
            reinterpret_cast<const uint32_t*>(values) + t % kCacheTokens / 2 * dims + dim, first,
            second);
        for (int r = 0; r < R; ++r) {
          const auto index = static_cast<size_t>(r) * weights_stride + static_cast<size_t>(t);
          if (t >= from) acc[r] = V::fma(V::broadcast(weights[index]), first, acc[r]);
          if (t + 1 < end) acc[r] = V::fma(V::broadcast(weights[index + 1]), second, acc[r]);
        }
      }
      t = end;
    }
  }
}

// One row's scores [256] to weights exp(score − maximum), in place, for tokens [from, to); writes
// maximum and sum to the partial. Sixteen tokens go at once, from a multiple of 16 on: the lanes
// before `from` and past the end win no maximum and get the weight 0.
template <class V>
inline void softmax_weights(float* scores, int32_t from, int32_t to, float* partial) {
  typename V::F highest = V::broadcast(-__builtin_huge_valf());
  const int32_t begin = from / 16 * 16;
  for (int32_t t = begin; t < from; ++t) scores[t] = -__builtin_huge_valf();
  for (int32_t t = to; t % 16 != 0; ++t) scores[t] = -__builtin_huge_valf();
  for (int32_t t = begin; t < to; t += 16) highest = V::max(highest, V::load(scores + t));
  const float maximum = V::maximum(highest);
  typename V::F sum = V::zero();
  for (int32_t t = begin; t < to; t += 16) {
    V::store(scores + t, simd::exp<V>(V::sub(V::load(scores + t), V::broadcast(maximum))));
    for (int32_t before = t; before < from; ++before) scores[before] = 0.0f;
    for (int32_t past = to; past < t + 16; ++past) {
      if (past >= t) scores[past] = 0.0f;
    }
    sum = V::add(sum, V::load(scores + t));
  }
  partial[0] = maximum;
  partial[1] = V::sum(sum);
}

template <class V, int R>
inline void segment_rows(const AttentionTile& tile, const AttentionRow* rows, int32_t segment,
                         float* partials, size_t partial_stride) {
  constexpr size_t kStride = kSegmentTokens;
  alignas(64) float scores[R * kStride];
  const int32_t begin = segment * kSegmentTokens;
  const int32_t first_block = begin / kCacheTokens;
  const Visible<V, R> visible(rows, begin);
  const typename V::F scale = V::broadcast(tile.scale);
  for (int32_t t = visible.first / 16 * 16; t < visible.last; t += 16) {
    typename V::F score[R];
    score_lanes<V, R>(tile, head_base<V>(tile, first_block + t / kCacheTokens), t % kCacheTokens,
                      rows, score);
    for (int r = 0; r < R; ++r) {
      V::store(scores + static_cast<size_t>(r) * kStride + t, V::mul(score[r], scale));
    }
  }
  for (int r = 0; r < R; ++r) {
    if (visible.any(r)) {
      softmax_weights<V>(scores + static_cast<size_t>(r) * kStride, visible.from[r], visible.to[r],
                         partials + static_cast<size_t>(r) * partial_stride);
    }
  }
  // Tokens that all rows see go together; those before and after, row by row.
  for (int32_t dim = 0; dim < tile.layout->head_dim; dim += 16) {
    typename V::F acc[R];
    for (int r = 0; r < R; ++r) {
      acc[r] = V::zero();
      weigh_values<V, 1>(tile, first_block, dim, visible.from[r], visible.before_common(r),
                         scores + static_cast<size_t>(r) * kStride, kStride, acc + r);
    }
    weigh_values<V, R>(tile, first_block, dim, visible.common_from, visible.common_to, scores,
                       kStride, acc);
    for (int r = 0; r < R; ++r) {
      if (!visible.any(r)) continue;
      weigh_values<V, 1>(tile, first_block, dim, visible.common_to, visible.to[r],
                         scores + static_cast<size_t>(r) * kStride, kStride, acc + r);
      V::store(partials + static_cast<size_t>(r) * partial_stride + 2 + dim, acc[r]);
    }
  }
}

template <class V>
inline float exp_scalar(float x) {
  alignas(64) float lanes[16];
  V::store(lanes, simd::exp<V>(V::broadcast(x)));
  return lanes[0];
}

template <class V>
void combine(const float* partials, size_t partial_stride, int32_t count, int32_t head_dim,
             float* out) {
  float maximum = partials[0];
  float sum = partials[1];
  for (int32_t d = 0; d < head_dim; d += 16) V::store(out + d, V::load(partials + 2 + d));
  for (int32_t s = 1; s < count; ++s) {
    const float* next = partials + static_cast<size_t>(s) * partial_stride;
    const float highest = maximum > next[0] ? maximum : next[0];
    const float keep = exp_scalar<V>(maximum - highest);
    const float take = exp_scalar<V>(next[0] - highest);
    const float kept = sum * keep;
    sum = __builtin_fmaf(next[1], take, kept);
    for (int32_t d = 0; d < head_dim; d += 16) {
      const typename V::F before = V::mul(V::load(out + d), V::broadcast(keep));
      V::store(out + d, V::fma(V::load(next + 2 + d), V::broadcast(take), before));
    }
    maximum = highest;
  }
  const typename V::F inverse = V::broadcast(1.0f / sum);
  for (int32_t d = 0; d < head_dim; d += 16) V::store(out + d, V::mul(V::load(out + d), inverse));
}

}  // namespace adze::ops::generic
