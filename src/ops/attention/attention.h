// Attention over a paged cache, tiled with an online softmax (Dao et al., FlashAttention, 2022).
//
// The keys of a sequence fall into segments of 256 tokens at absolute positions. For every query
// row each segment gives a partial result (maximum, sum, weighted values); partial results are
// combined in ascending order. So a row's result does not depend on the tile it is in, on the rows
// beside it, or on which threads computed which segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/cache_layout.h"
#include "ops/kernel_table.h"

namespace adze::ops {

inline constexpr int32_t kMaxAttentionRows = 8;  // query rows of a tile

// One query row: one head of one token.
struct AttentionRow {
  const float* query = nullptr;  // [head_dim]
  int32_t first = 0;             // it sees the keys of positions first … position
  int32_t position = 0;
  float* out = nullptr;  // [head_dim]
};

// Rows that share a key head of one sequence.
struct AttentionTile {
  const CacheLayout* layout = nullptr;
  // The sequence's blocks; the layer's part of a block begins `layer_offset` bytes in. Blocks that
  // hold no position that a row sees are never read.
  std::span<std::byte* const> blocks;
  size_t layer_offset = 0;
  int32_t kv_head = 0;
  float scale = 1.0f;
  std::span<const AttentionRow> rows;  // at most kMaxAttentionRows; `first` and `position` ascend
};

// A partial result: [2 + head_dim] floats: maximum, sum, weighted values.
inline size_t partial_floats(int32_t head_dim) { return static_cast<size_t>(head_dim) + 2; }
inline int32_t segment_of(int32_t position) { return position / kSegmentTokens; }

struct AttentionKernels {
  // Partial results of one segment for every row that sees keys of it; row r's goes to partials + r
  // · partial_stride.
  void (*segment)(const AttentionTile& tile, int32_t segment, float* partials,
                  size_t partial_stride) = nullptr;
  // Combines `count` consecutive segments (partials + s · partial_stride) into out [head_dim].
  void (*combine)(const float* partials, size_t partial_stride, int32_t count, int32_t head_dim,
                  float* out) = nullptr;
  // Writes one token's keys and values [kv_heads, head_dim] to `slot` of a block, rounding to
  // nearest even. int8: the scale is the largest magnitude over 127; rows all below 127 · 2^−126
  // become zero, rows that are not all finite NaN.
  void (*write_kv)(const CacheLayout& layout, std::byte* block, int32_t slot, const float* keys,
                   const float* values) = nullptr;
};

std::span<const KernelTable<AttentionKernels>> attention_kernel_tables();
const AttentionKernels& attention_kernels(Isa isa);

extern const AttentionKernels kAttentionReference;
extern const AttentionKernels kAttentionAvx2;
extern const AttentionKernels kAttentionAvx512;

}  // namespace adze::ops
