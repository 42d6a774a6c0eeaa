// One segment of attention over an int8 cache. Queries become 15-bit codes per row, and softmax
// weight · value scale 16-bit codes per row and segment, so that both products are exact sums of
// integers: the order of their terms cannot matter, and 16 bits lose neither the queries' small
// elements nor the softmax's tail. Weights of 8 bits would (below 1/510 of the largest).
#pragma once

#include "ops/attention/generic.h"
#include "ops/simd/extent.h"

namespace adze::ops::generic {

inline constexpr float kMaxQueryCode = 16383;
inline constexpr float kMaxWeightCode = 32767;
// No sum overflows: 128 · 16,383 · kMaxInt8HeadDim and 127 · 32,767 · 256 are below 2³¹.

// Codes of four neighbours, as two pairs: 0 and 2, 1 and 3, as even_ and odd_ bytes are.
template <class V>
inline void store_code_pairs(typename V::F v, float most, int32_t* lanes) {
  const typename V::F clamped =
      V::max(V::min(V::round(v), V::broadcast(most)), V::broadcast(-most));
  V::store_i32(lanes, clamped);
}
template <class V>
inline int32_t code_pair(int32_t low, int32_t high) {
  return static_cast<int32_t>((static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high)
                                                                           << 16);
}

template <class V, int R>
struct QueryCodes {
  int32_t pairs[kMaxInt8HeadDim / 4 * R * 2];  // [head_dim / 4][R][2]
  float scale[R];
  int32_t start[R];  // −128 · Σ codes: keys are stored as 128 + code

  QueryCodes(const AttentionTile& tile, const AttentionRow* rows) {
    const int32_t dims = tile.layout->head_dim;
    for (int r = 0; r < R; ++r) {
      const float* query = rows[r].query;
      simd::Extent<V> extent;
      for (int32_t d = 0; d < dims; d += 16) {
        extent.see(V::load(query + d));
      }
      const float codes = simd::code_scale(extent, kMaxQueryCode);
      const typename V::F factor = V::broadcast(simd::code_factor(codes));
      int32_t sum = 0;
      for (int32_t d = 0; d < dims; d += 16) {
        alignas(64) int32_t lanes[16];
        store_code_pairs<V>(V::mul(V::load(query + d), factor), kMaxQueryCode, lanes);
        for (int32_t q = 0; q < 16; q += 4) {
          int32_t* pair = pairs + ((d + q) / 4 * R + r) * 2;
          pair[0] = code_pair<V>(lanes[q], lanes[q + 2]);
          pair[1] = code_pair<V>(lanes[q + 1], lanes[q + 3]);
          sum += lanes[q] + lanes[q + 1] + lanes[q + 2] + lanes[q + 3];
        }
      }
      scale[r] = codes * tile.scale;
      start[r] = -128 * sum;
    }
  }
};

template <class V>
inline const float* token_scales(const AttentionTile& tile, const std::byte* head) {
  return reinterpret_cast<const float*>(head + 2 * tile.layout->keys_bytes());
}

// Scores of R rows against the 16 tokens that begin at `lane` of a block.
template <class V, int R>
inline void score_lanes_i8(const AttentionTile& tile, const std::byte* head, int lane,
                           const QueryCodes<V, R>& queries, typename V::F* score) {
  typename V::I sum[R];
  for (int r = 0; r < R; ++r) sum[r] = V::ibroadcast(queries.start[r]);
  const auto* keys = reinterpret_cast<const uint32_t*>(head) + lane;
  const int32_t* pair = queries.pairs;
  for (int32_t d = 0; d < tile.layout->head_dim; d += 4, keys += kCacheTokens, pair += 2 * R) {
    const typename V::I words = V::load_words(keys);
    const typename V::I even = V::even_unsigned(words);
    const typename V::I odd = V::odd_unsigned(words);
    for (int r = 0; r < R; ++r) {
      sum[r] = V::dot_pairs(sum[r], even, V::ibroadcast(pair[2 * r]));
      sum[r] = V::dot_pairs(sum[r], odd, V::ibroadcast(pair[2 * r + 1]));
    }
  }
  const typename V::F key_scale = V::load(token_scales<V>(tile, head) + lane);
  for (int r = 0; r < R; ++r) {
    score[r] = V::mul(V::mul(V::to_float(sum[r]), key_scale), V::broadcast(queries.scale[r]));
  }
}

// A row's weights [256] times the scales of the values; gives the scale of their codes.
template <class V>
inline float weigh_scales(const AttentionTile& tile, int32_t first_block, const uint16_t* lanes,
                          float* weights) {
  simd::Extent<V> extent;
  for (int g = 0; g < kSegmentGroups; ++g) {
    if (lanes[g] == 0) continue;
    const std::byte* head = head_base<V>(tile, first_block + g * 16 / kCacheTokens);
    const float* scales = token_scales<V>(tile, head) + kCacheTokens + g * 16 % kCacheTokens;
    float* group = weights + g * 16;
    V::store(group, V::mul(V::load(group), V::load(scales)));
    // Scales of keys that it does not see are another's or nobody's: NaN among them is not its own.
    fill_unseen<V>(group, lanes[g], 0.0f);
    const typename V::F product = V::load(group);
    extent.see(product);
  }
  return simd::code_scale(extent, kMaxWeightCode);
}

// Weight codes of R rows, as pairs like a query's; zero for keys that a row does not see.
template <class V, int R>
struct WeightCodes {
  int32_t pairs[R * kSegmentTokens / 2];  // [R][256 / 4][2]
  float scale[R];

  // weights [256] of row r, changed in place.
  void set(const AttentionTile& tile, int32_t first_block, int r, const uint16_t* lanes,
           float* weights) {
    int32_t* row = pairs + r * (kSegmentTokens / 2);
    for (int32_t i = 0; i < kSegmentTokens / 2; ++i) row[i] = 0;
    scale[r] = weigh_scales<V>(tile, first_block, lanes, weights);
    const typename V::F factor = V::broadcast(simd::code_factor(scale[r]));
    for (int g = 0; g < kSegmentGroups; ++g) {
      if (lanes[g] == 0) continue;
      alignas(64) int32_t codes[16];
      store_code_pairs<V>(V::mul(V::load(weights + g * 16), factor), kMaxWeightCode, codes);
      for (int32_t q = 0; q < 16; q += 4) {
        row[(g * 16 + q) / 2] = code_pair<V>(codes[q], codes[q + 2]);
        row[(g * 16 + q) / 2 + 1] = code_pair<V>(codes[q + 1], codes[q + 3]);
      }
    }
  }
};

// Adds the weighted values of the 16 tokens of group `group`, for the 16 dimensions that begin at
// `dim`.
template <class V, int R>
inline void weigh_values_i8(const AttentionTile& tile, const std::byte* head, int group,
                            int32_t dim, const WeightCodes<V, R>& weights, typename V::I* sum) {
  const int32_t dims = tile.layout->head_dim;
  const auto* values = reinterpret_cast<const uint32_t*>(head + tile.layout->keys_bytes()) +
                       group * 16 % kCacheTokens / 4 * dims + dim;
  for (int32_t t = group * 16; t < group * 16 + 16; t += 4, values += dims) {
    const typename V::I words = V::load_words(values);
    const typename V::I even = V::even_signed(words);
    const typename V::I odd = V::odd_signed(words);
    for (int r = 0; r < R; ++r) {
      const int32_t* pair = weights.pairs + r * (kSegmentTokens / 2) + t / 2;
      sum[r] = V::dot_pairs(sum[r], even, V::ibroadcast(pair[0]));
      sum[r] = V::dot_pairs(sum[r], odd, V::ibroadcast(pair[1]));
    }
  }
}

template <class V, int R>
inline void segment_rows_i8(const AttentionTile& tile, const AttentionRow* rows, int32_t segment,
                            float* partials, size_t stride) {
  alignas(64) float scores[R * kSegmentTokens];
  const int32_t first_block = segment * (kSegmentTokens / kCacheTokens);
  const auto head_of = [&](int group) {
    return head_base<V>(tile, first_block + group * 16 / kCacheTokens);
  };
  const Visible<V, R> visible(rows, R, segment * kSegmentTokens);
  const QueryCodes<V, R> queries(tile, rows);
  for (int g = 0; g < kSegmentGroups; ++g) {
    if (visible.any[g] == 0) continue;
    typename V::F score[R];
    score_lanes_i8<V, R>(tile, head_of(g), g * 16 % kCacheTokens, queries, score);
    for (int r = 0; r < R; ++r) V::store(scores + r * kSegmentTokens + g * 16, score[r]);
  }
  WeightCodes<V, R> weights;
  for (int r = 0; r < R; ++r) {
    if (visible.sees[r]) {
      softmax_weights<V>(scores + r * kSegmentTokens, visible.lanes[r],
                         partials + static_cast<size_t>(r) * stride);
    }
    weights.set(tile, first_block, r, visible.lanes[r], scores + r * kSegmentTokens);
  }
  for (int32_t dim = 0; dim < tile.layout->head_dim; dim += 16) {
    typename V::I sum[R];
    for (int r = 0; r < R; ++r) sum[r] = V::izero();
    for (int g = 0; g < kSegmentGroups; ++g) {
      if (visible.any[g] != 0) weigh_values_i8<V, R>(tile, head_of(g), g, dim, weights, sum);
    }
    for (int r = 0; r < R; ++r) {
      if (!visible.sees[r]) continue;
      V::store(partials + static_cast<size_t>(r) * stride + 2 + dim,
               V::mul(V::to_float(sum[r]), V::broadcast(weights.scale[r])));
    }
  }
}

}  // namespace adze::ops::generic
