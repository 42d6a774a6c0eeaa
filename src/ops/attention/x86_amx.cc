// Attention over a bf16 cache with AMX: its blocks are tiles already. Sixteen query rows are the
// rows of a tile; queries and softmax weights are sums of two bf16 (docs/decisions/0011).
#include <algorithm>

#include "ops/attention/bf16_pairs.h"
#include "ops/attention/generic_write.h"
#include "ops/attention/segment.h"
#include "ops/simd/amx.h"

namespace adze::ops {
namespace {

using simd::Amx;

constexpr int32_t kMaxTileHeadDim = 512;  // beyond it float32 fmas do the work
constexpr int kSegmentBlocks = kSegmentTokens / kCacheTokens;
constexpr size_t kKeyStride = kCacheTokens * 4;  // bytes from one pair of dimensions to the next

// One pass: up to sixteen rows over one segment.
class Pass {
 public:
  Pass(const AttentionTile& tile, const AttentionRow* rows, int count, int32_t segment)
      : tile_(tile),
        count_(count),
        dims_(tile.layout->head_dim),
        visible_(rows, count, segment * kSegmentTokens) {
    for (int b = 0; b < kSegmentBlocks; ++b) {
      if ((visible_.any[2 * b] | visible_.any[2 * b + 1]) == 0) continue;
      blocks_[block_count_] = b;
      heads_[block_count_++] = generic::head_base<Amx>(tile, segment * kSegmentBlocks + b);
    }
  }

  bool any() const { return block_count_ > 0; }

  void run(const AttentionRow* rows, float* partials, size_t stride) {
    for (int r = 0; r < count_; ++r) {
      generic::split_query<Amx>(rows[r].query, dims_, query_high_ + r * query_stride(),
                                query_low_ + r * query_stride());
    }
    for (int i = 0; i < block_count_; i += 2) score(i, std::min(i + 1, block_count_ - 1));
    for (int r = 0; r < count_; ++r) {
      const auto softmax =
          visible_.full ? generic::softmax_pairs<Amx, true> : generic::softmax_pairs<Amx, false>;
      softmax(scores_ + r * kSegmentTokens, visible_.lanes[r], visible_.any, tile_.scale,
              weights_high_ + r * kSegmentTokens, weights_low_ + r * kSegmentTokens,
              partials + static_cast<size_t>(r) * stride);
    }
    if (!visible_.full && unseen_not_finite()) {
      for (int r = 0; r < count_; ++r) weigh_masked(r, partials, stride);
      return;
    }
    weigh(partials, stride, 0, count_);
  }

 private:
  // Elements from one row of the queries to the next.
  int query_stride() const { return (dims_ + 31) / 32 * 32; }

  // Keys of 32 dimensions from `d` on, as 16 rows of a tile; where there are only 16, a copy that
  // zeros follow.
  const std::byte* keys(int block, int32_t d, std::byte* copy) const {
    const std::byte* keys = heads_[block] + static_cast<size_t>(d / 2) * kKeyStride;
    if (d + 16 < dims_) return keys;
    for (size_t i = 0; i < 8 * kKeyStride; i += 64) {
      _mm512_storeu_si512(copy + i, _mm512_loadu_si512(keys + i));
      _mm512_storeu_si512(copy + 8 * kKeyStride + i, _mm512_setzero_si512());
    }
    return copy;
  }

  // Scores against two blocks, which may be the same: tiles 0 … 3.
  void score(int first, int second) {
    alignas(64) std::byte copies[2][16 * kKeyStride];
    const auto stride = static_cast<size_t>(query_stride()) * 2;
    Amx::zero_tile<0>();
    Amx::zero_tile<1>();
    Amx::zero_tile<2>();
    Amx::zero_tile<3>();
    for (int32_t d = 0; d < dims_; d += 32) {
      const std::byte* first_keys = keys(first, d, copies[0]);
      const std::byte* second_keys = keys(second, d, copies[1]);
      Amx::load_tile<4>(query_high_ + d, stride);
      Amx::load_tile<5>(query_low_ + d, stride);
      Amx::load_tile<6>(first_keys, kKeyStride);
      Amx::load_tile<7>(first_keys + 64, kKeyStride);
      Amx::dot_bf16<0, 4, 6>();
      Amx::dot_bf16<1, 4, 7>();
      Amx::dot_bf16<0, 5, 6>();
      Amx::dot_bf16<1, 5, 7>();
      Amx::load_tile<6>(second_keys, kKeyStride);
      Amx::load_tile<7>(second_keys + 64, kKeyStride);
      Amx::dot_bf16<2, 4, 6>();
      Amx::dot_bf16<3, 4, 7>();
      Amx::dot_bf16<2, 5, 6>();
      Amx::dot_bf16<3, 5, 7>();
    }
    constexpr size_t kStride = kSegmentTokens * sizeof(float);
    Amx::store_tile<0>(scores_ + blocks_[first] * kCacheTokens, kStride);
    Amx::store_tile<1>(scores_ + blocks_[first] * kCacheTokens + 16, kStride);
    Amx::store_tile<2>(scores_ + blocks_[second] * kCacheTokens, kStride);
    Amx::store_tile<3>(scores_ + blocks_[second] * kCacheTokens + 16, kStride);
  }

  // Whether a value that some row does not see is no number: zero times it would be none either.
  bool unseen_not_finite() const {
    const __m512i exponent = _mm512_set1_epi16(0x7f80);
    __mmask32 found = 0;
    for (int i = 0; i < block_count_; ++i) {
      const int group = 2 * blocks_[i];
      if ((visible_.all[group] & visible_.all[group + 1]) == 0xffff) continue;
      const std::byte* values = heads_[i] + tile_.layout->keys_bytes();
      for (size_t at = 0; at < tile_.layout->keys_bytes(); at += 64) {
        const __m512i bits = _mm512_and_si512(_mm512_loadu_si512(values + at), exponent);
        found |= _mm512_cmpeq_epi16_mask(bits, exponent);
      }
    }
    return found != 0;
  }

  // Where the values of 16, 32, 48 or 64 dimensions lie, by block.
  struct Values {
    const std::byte* blocks[kSegmentBlocks];
    size_t stride;  // bytes from one pair of tokens to the next
  };

  // Weighted values of rows [from, to).
  void weigh(float* partials, size_t stride, int from, int to) {
    for (int32_t dim = 0; dim < dims_; dim += 64) {
      Values values = {{}, static_cast<size_t>(dims_) * 4};
      for (int i = 0; i < block_count_; ++i) {
        values.blocks[i] = heads_[i] + tile_.layout->keys_bytes() + static_cast<size_t>(dim) * 4;
      }
      weigh_dims(values, dim, partials, stride, from, to);
    }
  }

  // The same for one row, with zeros for the values that it does not see.
  void weigh_masked(int row, float* partials, size_t stride) {
    alignas(64) uint32_t copies[kSegmentBlocks][kCacheTokens / 2][64];
    for (int32_t dim = 0; dim < dims_; dim += 64) {
      Values values = {{}, sizeof copies[0][0]};
      for (int i = 0; i < block_count_; ++i) {
        const std::byte* from = heads_[i] + tile_.layout->keys_bytes();
        for (int pair = 0; pair < kCacheTokens / 2; ++pair) {
          const int seen = visible_.lanes[row][2 * blocks_[i] + pair / 8] >> (2 * pair % 16) & 3;
          const uint32_t mask = (seen & 1 ? 0xffffu : 0u) | (seen & 2 ? 0xffff0000u : 0u);
          for (int32_t d = dim; d < std::min(dim + 64, dims_); d += 16) {
            const __m512i words = _mm512_loadu_si512(from + (pair * dims_ + d) * int32_t{4});
            _mm512_store_si512(&copies[i][pair][d - dim],
                               _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(mask))));
          }
        }
        values.blocks[i] = reinterpret_cast<const std::byte*>(copies[i]);
      }
      weigh_dims(values, dim, partials, stride, row, row + 1);
    }
  }

  void weigh_dims(const Values& values, int32_t dim, float* partials, size_t stride, int from,
                  int to) {
    const int32_t left = dims_ - dim;
    if (left >= 64) {
      weigh_tiles<4>(values, dim, partials, stride, from, to);
    } else if (left == 48) {
      weigh_tiles<3>(values, dim, partials, stride, from, to);
    } else if (left == 32) {
      weigh_tiles<2>(values, dim, partials, stride, from, to);
    } else {
      weigh_tiles<1>(values, dim, partials, stride, from, to);
    }
  }

  template <int kTiles>
  void weigh_tiles(const Values& values, int32_t dim, float* partials, size_t stride, int from,
                   int to) {
    constexpr size_t kWeightStride = kSegmentTokens * sizeof(uint16_t);
    Amx::zero_tile<0>();
    if constexpr (kTiles > 1) Amx::zero_tile<1>();
    if constexpr (kTiles > 2) Amx::zero_tile<2>();
    if constexpr (kTiles > 3) Amx::zero_tile<3>();
    for (int i = 0; i < block_count_; ++i) {
      Amx::load_tile<4>(weights_high_ + blocks_[i] * kCacheTokens, kWeightStride);
      Amx::load_tile<5>(weights_low_ + blocks_[i] * kCacheTokens, kWeightStride);
      const std::byte* block = values.blocks[i];
      weigh_pair<0, (kTiles > 1)>(block, values.stride);
      if constexpr (kTiles > 2) weigh_pair<2, (kTiles > 3)>(block + 128, values.stride);
    }
    alignas(64) float sums[kTiles][Amx::kTileRows * 16];
    const bool direct = from == 0 && to == Amx::kTileRows;
    const auto place = [&](int tile) {
      return direct ? partials + 2 + dim + tile * 16 : sums[tile];
    };
    const size_t out_stride = direct ? stride * sizeof(float) : 64;
    Amx::store_tile<0>(place(0), out_stride);
    if constexpr (kTiles > 1) Amx::store_tile<1>(place(1), out_stride);
    if constexpr (kTiles > 2) Amx::store_tile<2>(place(2), out_stride);
    if constexpr (kTiles > 3) Amx::store_tile<3>(place(3), out_stride);
    if (direct) return;
    for (int r = from; r < to; ++r) {
      float* out = partials + static_cast<size_t>(r) * stride + 2 + dim;
      for (int t = 0; t < kTiles; ++t) {
        _mm512_storeu_ps(out + t * 16, _mm512_load_ps(sums[t] + r * 16));
      }
    }
  }

  // Adds one block's weighted values to one tile or two, from kSum on.
  template <int kSum, bool kBoth>
  void weigh_pair(const std::byte* values, size_t stride) {
    Amx::load_tile<6>(values, stride);
    if constexpr (kBoth) Amx::load_tile<7>(values + 64, stride);
    Amx::dot_bf16<kSum, 4, 6>();
    if constexpr (kBoth) Amx::dot_bf16<kSum + 1, 4, 7>();
    Amx::dot_bf16<kSum, 5, 6>();
    if constexpr (kBoth) Amx::dot_bf16<kSum + 1, 5, 7>();
  }

  const AttentionTile& tile_;
  int count_;
  int32_t dims_;
  generic::Visible<Amx, Amx::kTileRows> visible_;
  int block_count_ = 0;
  int blocks_[kSegmentBlocks];              // of the segment, that some row sees
  const std::byte* heads_[kSegmentBlocks];  // their keys; the values follow
  alignas(64) float scores_[Amx::kTileRows * kSegmentTokens];
  alignas(64) uint16_t query_high_[Amx::kTileRows * kMaxTileHeadDim];
  alignas(64) uint16_t query_low_[Amx::kTileRows * kMaxTileHeadDim];
  alignas(64) uint16_t weights_high_[Amx::kTileRows * kSegmentTokens];
  alignas(64) uint16_t weights_low_[Amx::kTileRows * kSegmentTokens];
};

void segment(const AttentionTile& tile, int32_t segment, float* partials, size_t stride) {
  if (tile.layout->dtype != CacheDType::kBF16 || tile.layout->head_dim > kMaxTileHeadDim) {
    generic::segment<Amx>(tile, segment, partials, stride);
    return;
  }
  const Amx::Tiles tiles;
  for (size_t begin = 0; begin < tile.rows.size(); begin += Amx::kTileRows) {
    const int count = static_cast<int>(std::min<size_t>(Amx::kTileRows, tile.rows.size() - begin));
    for (size_t r = begin + Amx::kTileRows;
         r < std::min(tile.rows.size(), begin + 2 * Amx::kTileRows); ++r) {
      generic::prefetch_query<Amx>(tile.rows[r].query, tile.layout->head_dim);
    }
    Pass pass(tile, tile.rows.data() + begin, count, segment);
    if (pass.any()) pass.run(tile.rows.data() + begin, partials + begin * stride, stride);
  }
}

}  // namespace

const AttentionKernels kAttentionAmx = {segment, generic::fold<Amx>, generic::finish<Amx>,
                                        generic::write_kv<Amx>};

}  // namespace adze::ops
