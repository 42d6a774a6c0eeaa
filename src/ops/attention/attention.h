// Attention of query rows over a sequence's paged keys and values.
//
// Source: tiled online softmax (Dao et al., FlashAttention, 2022; Milakov and Gimelshein, 2018),
// with the keys split at fixed absolute positions (Flash-Decoding, 2023).
//
// Numerics. Positions are cut into segments of 256 tokens. Within a segment a row's scores are
// scale · q·k with one accumulator per score over ascending dimensions; m is their largest, l the
// sum of p = exp(score − m) in 16 partial sums (by token mod 16) added as a tree, o = Σ p·v with
// one accumulator per dimension over ascending tokens. Segments are merged in ascending order, and
// at the end o / l. Invisible positions have p = 0, which changes no sum: a row's result has the
// same bits whatever rows share its tile, whether its segments are visited in one loop or by
// several threads, and, all kernels being instances of one algorithm, on every instruction set.
//   F32 and BF16: every product is a float fused multiply-add (BF16 widened exactly).
//   I8: queries are rounded to 15-bit codes per row, and p · value scale per row and segment; the
//   dot products are exact in int32.
//
// Everything here is thread-safe, allocates nothing and keeps no state; the caller owns all memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "ops/attention/cache_layout.h"

namespace adze::ops {

inline constexpr int kSegmentTokens = 256;
inline constexpr int kMaxTileRows = 12;

// Which positions a row sees: begin ≤ t < end, and the context's sinks.
struct VisibleRange {
  int32_t begin = 0;
  int32_t end = 0;
};

// What the token at `position` sees: itself and what precedes it; with a window > 0 only the last
// `window` positions, its own included.
VisibleRange causal_range(int32_t position, int32_t window);

// One query head of one token.
struct AttentionRow {
  const float* query = nullptr;  // [head_dim]
  float* out = nullptr;          // [head_dim], written; may be `query`
  VisibleRange visible;
};

// What the rows of a tile share: one sequence, one layer, one key-value head.
struct AttentionContext {
  const CacheLayout* layout = nullptr;
  // Block i holds positions 32i … 32i+31. Blocks that no row of a tile sees are never touched and
  // may be null.
  std::span<std::byte* const> blocks;
  size_t block_offset = 0;  // of this layer within every block, a multiple of 64
  int kv_head = 0;
  float scale = 1;    // of the scores, usually 1 / √head_dim
  int32_t sinks = 0;  // positions 0 … sinks−1 below a row's end are visible whatever its begin
};

// Consecutive segments: first ≤ s < last.
struct SegmentRange {
  int32_t first = 0;
  int32_t last = 0;
};

struct AttentionKernel;  // attention_kernels.h

// The kernel for a cache of this type on this instruction set.
const AttentionKernel& select_attention(Isa isa, DType cache_dtype);
const char* attention_kernel_name(const AttentionKernel& kernel);

// The segments in which some row sees something, from the first to the last of them (segments
// between sinks and a window are skipped when visited, not excluded here).
SegmentRange visible_segments(const AttentionContext& context, std::span<const AttentionRow> rows);

// Scratch of attend_rows and attend_segments for one tile, aligned to 64 bytes.
size_t attention_scratch_bytes(const CacheLayout& layout);

// Attends all rows of a tile, 1 … kMaxTileRows of them, and writes their outputs. Each row sees at
// least one position.
void attend_rows(const AttentionKernel& kernel, const AttentionContext& context,
                 std::span<const AttentionRow> rows, std::span<std::byte> scratch);

// The same in two steps, so that threads can share a long context. A partial result is
// partial_floats() floats: of segment s and row r at
// partials[((s − segments.first) · rows + r) · partial_floats]. `partials` is aligned to 64 bytes.
size_t partial_floats(const CacheLayout& layout);
void attend_segments(const AttentionKernel& kernel, const AttentionContext& context,
                     std::span<const AttentionRow> rows, SegmentRange segments, float* partials,
                     std::span<std::byte> scratch);

// Merges the partial results of segments first … last−1 (those of visible_segments(), in one piece
// of memory whoever computed them), overwrites them, and writes the rows' outputs.
void combine_partials(const AttentionKernel& kernel, const AttentionContext& context,
                      std::span<const AttentionRow> rows, SegmentRange segments, float* partials);

}  // namespace adze::ops
