// Attention over a bf16 cache with AVX-512's bf16 dot products. Queries and softmax weights are
// sums of two bf16 (docs/decisions/0011).
#include <algorithm>

#include "ops/attention/bf16_pairs.h"
#include "ops/attention/generic_write.h"
#include "ops/attention/segment.h"
#include "ops/simd/avx512.h"

namespace adze::ops {
namespace {

struct Avx512bf16 : simd::Avx512 {};
using V = Avx512bf16;

constexpr int32_t kMaxDotHeadDim = 512;  // beyond it float32 fmas do the work
constexpr int kMaxPassRows = 12;

// Adds the dot products of pairs; the pair of `pairs` goes to all lanes. In assembly because the
// compiler keeps sums of tiles this large in memory.
[[gnu::always_inline]] inline __m512 dot(__m512 sum, __m512i words, const uint16_t* pairs) {
  asm("vdpbf16ps %2%{1to16%}, %1, %0"
      : "+v"(sum)
      : "v"(words), "m"(*reinterpret_cast<const uint32_t(*)[1]>(pairs)));
  return sum;
}

// One pass: R rows over one segment; two vectors of sums per row.
template <int R>
class Pass {
 public:
  Pass(const AttentionTile& tile, const AttentionRow* rows, int32_t segment)
      : tile_(tile),
        dims_(tile.layout->head_dim),
        first_block_(segment * (kSegmentTokens / kCacheTokens)),
        visible_(rows, R, segment * kSegmentTokens) {}

  void run(const AttentionRow* rows, float* partials, size_t stride) {
    for (int r = 0; r < R; ++r) {
      generic::convert_query<V, false>(rows[r].query, dims_, queries_[r], nullptr);
    }
    for (int g = 0; g < generic::kSegmentGroups; g += 2) {
      if ((visible_.any[g] | visible_.any[g + 1]) != 0) score(g);
    }
    for (int r = 0; r < R; ++r) {
      const auto softmax = visible_.full ? generic::softmax_pairs<V, false, true>
                                         : generic::softmax_pairs<V, false, false>;
      softmax(scores_[r], visible_.lanes[r], visible_.any, tile_.scale, weights_[r], nullptr,
              partials + static_cast<size_t>(r) * stride);
    }
    int32_t dim = 0;
    for (; dim + 32 <= dims_; dim += 32) weigh<2>(dim, partials, stride);
    if (dim < dims_) weigh<1>(dim, partials, stride);
  }

 private:
  const std::byte* head(int group) const {
    return generic::head_base<V>(tile_, first_block_ + group * 16 / kCacheTokens);
  }

  // Against the 32 tokens of a block.
  void score(int group) {
    const auto* keys = reinterpret_cast<const uint32_t*>(head(group));
    __m512 sums[R][2];
    for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
    for (int32_t d = 0; d < dims_; d += 2, keys += kCacheTokens) {
      const __m512i first = _mm512_loadu_si512(keys);
      const __m512i second = _mm512_loadu_si512(keys + 16);
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) {
        sums[r][0] = dot(sums[r][0], first, queries_[r] + d);
        sums[r][1] = dot(sums[r][1], second, queries_[r] + d);
      }
    }
    for (int r = 0; r < R; ++r) {
      _mm512_store_ps(scores_[r] + group * 16, sums[r][0]);
      _mm512_store_ps(scores_[r] + group * 16 + 16, sums[r][1]);
    }
  }

  // Weighted values of 16 · kColumns dimensions from `dim` on.
  template <int kColumns>
  void weigh(int32_t dim, float* partials, size_t stride) const {
    __m512 sums[R][kColumns];
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < kColumns; ++c) sums[r][c] = _mm512_setzero_ps();
    }
    for (int g = 0; g < generic::kSegmentGroups; ++g) {
      if (visible_.any[g] == 0) continue;
      const auto* values = reinterpret_cast<const uint32_t*>(head(g) + tile_.layout->keys_bytes()) +
                           g * 16 % kCacheTokens / 2 * dims_ + dim;
      if (visible_.all[g] == 0xffff) {
        weigh_group<kColumns>(g, values, sums);
      } else {
        weigh_masked<kColumns>(g, values, sums);
      }
    }
    for (int r = 0; r < R; ++r) {
      if (!visible_.sees[r]) continue;
      for (int c = 0; c < kColumns; ++c) {
        _mm512_storeu_ps(partials + static_cast<size_t>(r) * stride + 2 + dim + c * 16, sums[r][c]);
      }
    }
  }

  template <int kColumns>
  [[gnu::always_inline]] void weigh_group(int group, const uint32_t* values,
                                          __m512 (&sums)[R][kColumns]) const {
    for (int t = group * 16; t < group * 16 + 16; t += 2, values += dims_) {
      __m512i words[kColumns];
      for (int c = 0; c < kColumns; ++c) words[c] = _mm512_loadu_si512(values + c * 16);
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) {
        for (int c = 0; c < kColumns; ++c) {
          sums[r][c] = dot(sums[r][c], words[c], weights_[r] + t);
        }
      }
    }
  }

  // The same with zeros for the values that a row does not see: zero times what is no number would
  // be none either.
  template <int kColumns>
  void weigh_masked(int group, const uint32_t* values, __m512 (&sums)[R][kColumns]) const {
    for (int i = 0; i < 16; i += 2, values += dims_) {
      if ((visible_.any[group] >> i & 3) == 0) continue;
      for (int r = 0; r < R; ++r) {
        const int seen = visible_.lanes[r][group] >> i & 3;
        if (seen == 0) continue;
        const __m512i mask = _mm512_set1_epi32(static_cast<int>(
            ((seen & 1) != 0 ? 0xffffu : 0u) | ((seen & 2) != 0 ? 0xffff0000u : 0u)));
        for (int c = 0; c < kColumns; ++c) {
          const __m512i words = _mm512_and_si512(_mm512_loadu_si512(values + c * 16), mask);
          sums[r][c] = dot(sums[r][c], words, weights_[r] + group * 16 + i);
        }
      }
    }
  }

  const AttentionTile& tile_;
  int32_t dims_;
  int32_t first_block_;
  generic::Visible<V, R> visible_;
  alignas(64) float scores_[R][kSegmentTokens];
  alignas(64) uint16_t queries_[R][kMaxDotHeadDim];
  alignas(64) uint16_t weights_[R][kSegmentTokens];
};

void segment(const AttentionTile& tile, int32_t segment, float* partials, size_t stride) {
  if (tile.layout->dtype != CacheDType::kBF16 || tile.layout->head_dim > kMaxDotHeadDim) {
    generic::segment<V>(tile, segment, partials, stride);
    return;
  }
  const AttentionRow* rows = tile.rows.data();
  const AttentionRow* end = rows + tile.rows.size();
  const auto run = [&]<int R>() {
    if (generic::any_sees<V, R>(rows, segment)) {
      for (const AttentionRow* next = rows + R; next < std::min(rows + R + kMaxPassRows, end);
           ++next) {
        generic::prefetch_query<V>(next->query, tile.layout->head_dim);
      }
      Pass<R>(tile, rows, segment).run(rows, partials, stride);
    }
    rows += R;
    partials += R * stride;
  };
  // NOLINTBEGIN(bugprone-infinite-loop): run() takes its rows from the front.
  while (end - rows >= kMaxPassRows) run.template operator()<kMaxPassRows>();
  while (end - rows >= 8) run.template operator()<8>();
  while (end - rows >= 4) run.template operator()<4>();
  while (end - rows >= 3) run.template operator()<3>();
  while (end - rows >= 2) run.template operator()<2>();
  while (end - rows >= 1) run.template operator()<1>();
  // NOLINTEND(bugprone-infinite-loop)
}

}  // namespace

const AttentionKernels kAttentionAvx512Bf16 = {segment, generic::fold<V>, generic::finish<V>,
                                               generic::write_kv<V>};

}  // namespace adze::ops
