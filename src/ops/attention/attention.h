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

inline constexpr int32_t kMaxAttentionRows = 64;  // query rows of a tile

// Keys of positions [from, to).
struct KeyRange {
  int32_t from = 0;
  int32_t to = 0;
};

// One query row: one head of one token.
struct AttentionRow {
  const float* query = nullptr;  // [head_dim]
  // The keys that it sees: few ranges, none of them empty, ascending and apart; at least one.
  std::span<const KeyRange> seen;
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
  std::span<const AttentionRow> rows;  // at most kMaxAttentionRows
};

// A partial result: [2 + head_dim] floats: maximum, sum, weighted values.
inline size_t partial_floats(int32_t head_dim) { return static_cast<size_t>(head_dim) + 2; }
inline int32_t segment_of(int32_t position) { return position / kSegmentTokens; }
// The first segment from `from` on of which a row sees a key; −1: none.
int32_t next_segment(std::span<const AttentionRow> rows, int32_t from);
// The partial results of `rows` rows that have seen nothing yet, for fold().
void clear_partials(float* partials, size_t stride, size_t rows, int32_t head_dim);

// Rows are `stride` floats apart in all that holds partial results.
struct AttentionKernels {
  // Partial results of one segment for every row that sees keys of it; the others' are not written.
  void (*segment)(const AttentionTile& tile, int32_t segment, float* partials,
                  size_t stride) = nullptr;
  // Adds what segment() gave to `sums`, segments in ascending order.
  void (*fold)(const AttentionTile& tile, int32_t segment, const float* partials, size_t stride,
               float* sums, size_t sums_stride) = nullptr;
  // Writes the rows' results once all segments are added.
  void (*finish)(const AttentionTile& tile, const float* sums, size_t sums_stride) = nullptr;
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
extern const AttentionKernels kAttentionAmx;

}  // namespace adze::ops
