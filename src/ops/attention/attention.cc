#include "ops/attention/attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ops/attention/attention_kernels.h"

namespace adze::ops {
namespace {

constexpr int32_t kMaxQueryCode = 16383;
// |Σ code · query code| ≤ 127 · 16383 · 1024 < 2³¹.
constexpr int kMaxHeadDim = 1024;

constexpr size_t to_size(int n) { return static_cast<size_t>(n); }

// The parts of a tile's scratch, each a multiple of 64 bytes.
struct Scratch {
  float* scores;
  int16_t* codes;
  float* query_scales;
  int32_t* query_corrections;
  float* code_scales;
  void* queries;
  float* running;
  float* segment;
};

constexpr size_t kRowFloats = 16;  // kMaxTileRows, padded to 64 bytes
constexpr size_t kScoreBytes = to_size(kMaxTileRows * kSegmentTokens) * sizeof(float);
constexpr size_t kCodeBytes = to_size(kMaxTileRows * kSegmentTokens) * sizeof(int16_t);

size_t query_bytes(int padded_dim) { return to_size(padded_dim * kMaxTileRows) * sizeof(float); }

size_t tile_partial_bytes(int padded_dim) {
  return kMaxTileRows * partial_stride(padded_dim) * sizeof(float);
}

Scratch divide(std::span<std::byte> scratch, int padded_dim) {
  std::byte* next = scratch.data();
  const auto take = [&next](size_t bytes) {
    std::byte* taken = next;
    next += bytes;
    return taken;
  };
  Scratch s;
  s.scores = reinterpret_cast<float*>(take(kScoreBytes));
  s.codes = reinterpret_cast<int16_t*>(take(kCodeBytes));
  s.query_scales = reinterpret_cast<float*>(take(kRowFloats * sizeof(float)));
  s.query_corrections = reinterpret_cast<int32_t*>(take(kRowFloats * sizeof(int32_t)));
  s.code_scales = reinterpret_cast<float*>(take(kRowFloats * sizeof(float)));
  s.queries = take(query_bytes(padded_dim));
  s.running = reinterpret_cast<float*>(take(tile_partial_bytes(padded_dim)));
  s.segment = reinterpret_cast<float*>(take(tile_partial_bytes(padded_dim)));
  assert(next <= scratch.data() + scratch.size());
  return s;
}

void pack_queries_float(std::span<const AttentionRow> rows, int head_dim, int padded_dim,
                        float* packed) {
  std::fill_n(packed, to_size(padded_dim * kMaxTileRows), 0.0f);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t d = 0; d < to_size(head_dim); ++d) packed[d * kMaxTileRows + r] = rows[r].query[d];
  }
}

void pack_queries_codes(std::span<const AttentionRow> rows, int head_dim, int padded_dim,
                        const Scratch& scratch) {
  static constexpr size_t kPlace[4] = {0, 2, 1, 3};
  int16_t* packed = static_cast<int16_t*>(scratch.queries);
  std::fill_n(packed, to_size(padded_dim * kMaxTileRows), int16_t{0});
  for (size_t r = 0; r < rows.size(); ++r) {
    float largest = 0;
    for (int d = 0; d < head_dim; ++d) largest = std::max(largest, std::fabs(rows[r].query[d]));
    const float scale = largest / static_cast<float>(kMaxQueryCode);
    // Below the smallest normal number the inverse would overflow: the row is zero.
    const bool zero = !(scale >= std::numeric_limits<float>::min());
    const float inverse = zero ? 0.0f : 1.0f / scale;
    int32_t sum = 0;
    for (size_t d = 0; d < to_size(head_dim); ++d) {
      const long code = std::clamp(std::lrint(rows[r].query[d] * inverse),
                                   static_cast<long>(-kMaxQueryCode), long{kMaxQueryCode});
      packed[(d / 4 * kMaxTileRows + r) * 4 + kPlace[d % 4]] = static_cast<int16_t>(code);
      sum += static_cast<int32_t>(code);
    }
    scratch.query_scales[r] = zero ? 0.0f : scale;
    scratch.query_corrections[r] = -128 * sum;
  }
}

// The visible part of slots [first, first + 32) of a row: [begin, end) and what the sinks add below
// begin.
struct SlotRange {
  int32_t begin;
  int32_t end;
  int32_t sinks;  // slots below this are visible too

  bool all() const { return end == kCacheBlockTokens && begin <= sinks; }
  bool none() const { return begin >= end && sinks <= 0; }
};

SlotRange slots_of(const VisibleRange& visible, int32_t sinks, int32_t first) {
  const auto slot = [first](int32_t position) {
    return std::clamp(position - first, 0, kCacheBlockTokens);
  };
  const int32_t end = slot(visible.end);
  return {slot(visible.begin), end, std::min(slot(sinks), end)};
}

void mask_row(const SlotRange& range, float* scores) {
  for (int32_t t = 0; t < kCacheBlockTokens; ++t) {
    const bool visible = t < range.sinks || (t >= range.begin && t < range.end);
    if (!visible) scores[t] = -std::numeric_limits<float>::infinity();
  }
}

// Collects the blocks of a segment that some row sees; `first_token[i]` is the position of slot 0
// of the i-th.
void find_blocks(const AttentionContext& context, std::span<const AttentionRow> rows,
                 int32_t segment, SegmentTile& tile, int32_t* first_token) {
  const CacheLayout& layout = *context.layout;
  tile.blocks = 0;
  for (int32_t i = 0; i < kSegmentBlocks; ++i) {
    const int32_t first = segment * kSegmentTokens + i * kCacheBlockTokens;
    const bool seen = std::any_of(rows.begin(), rows.end(), [&](const AttentionRow& row) {
      return !slots_of(row.visible, context.sinks, first).none();
    });
    if (!seen) continue;
    const size_t index = static_cast<size_t>(first / kCacheBlockTokens);
    assert(index < context.blocks.size() && context.blocks[index] != nullptr);
    const std::byte* head =
        context.blocks[index] + context.block_offset + layout.head_offset(context.kv_head);
    const size_t b = to_size(tile.blocks++);
    first_token[b] = first;
    tile.keys[b] = head + layout.keys_offset();
    tile.values[b] = head + layout.values_offset();
    tile.scales[b] = layout.dtype() == DType::kI8
                         ? reinterpret_cast<const float*>(head + layout.scales_offset())
                         : nullptr;
  }
}

void attend_segment(const AttentionKernel& kernel, const AttentionContext& context,
                    std::span<const AttentionRow> rows, int32_t segment, SegmentTile& tile) {
  int32_t first_token[kSegmentBlocks];
  find_blocks(context, rows, segment, tile, first_token);
  if (tile.blocks == 0) {
    for (size_t r = 0; r < rows.size(); ++r) {
      tile.partials[r * partial_stride(tile.padded_dim) + to_size(tile.padded_dim) + 1] = 0;
    }
    return;
  }
  kernel.scores(tile);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t b = 0; b < to_size(tile.blocks); ++b) {
      const SlotRange range = slots_of(rows[r].visible, context.sinks, first_token[b]);
      if (!range.all()) {
        mask_row(range, tile.scores + r * kSegmentTokens + b * kCacheBlockTokens);
      }
    }
  }
  kernel.softmax(tile);
  kernel.values(tile);
}

SegmentTile prepare(const AttentionContext& context, std::span<const AttentionRow> rows,
                    const Scratch& scratch) {
  const CacheLayout& layout = *context.layout;
  assert(!rows.empty() && rows.size() <= to_size(kMaxTileRows));
  assert(layout.padded_dim() <= kMaxHeadDim);
  SegmentTile tile;
  tile.rows = static_cast<int>(rows.size());
  tile.padded_dim = layout.padded_dim();
  tile.scale = context.scale;
  tile.queries = scratch.queries;
  tile.query_scales = scratch.query_scales;
  tile.query_corrections = scratch.query_corrections;
  tile.scores = scratch.scores;
  tile.codes = scratch.codes;
  tile.code_scales = scratch.code_scales;
  if (layout.dtype() == DType::kI8) {
    pack_queries_codes(rows, layout.head_dim(), tile.padded_dim, scratch);
  } else {
    pack_queries_float(rows, layout.head_dim(), tile.padded_dim,
                       static_cast<float*>(scratch.queries));
  }
  return tile;
}

void write_out(const AttentionRow& row, const float* partial, int head_dim, int padded_dim) {
  const float sum = partial[padded_dim + 1];
  assert(sum > 0 || std::isnan(sum));
  for (int d = 0; d < head_dim; ++d) row.out[d] = partial[d] / sum;
}

#define ADZE_ATTENTION_KERNEL(name, isa, dtype) &name,
constexpr const AttentionKernel* kKernels[] = {
#include "ops/attention/kernels.inc"
};
#undef ADZE_ATTENTION_KERNEL

}  // namespace

std::span<const AttentionKernel* const> attention_kernels() { return kKernels; }

const AttentionKernel& select_attention(Isa isa, DType cache_dtype) {
  for (const AttentionKernel* kernel : kKernels) {
    if (kernel->isa == isa && kernel->dtype == cache_dtype) return *kernel;
  }
  throw_unsupported("there is no attention over a cache of type {}", dtype_info(cache_dtype).name);
}

VisibleRange causal_range(int32_t position, int32_t window) {
  assert(position >= 0 && window >= 0);
  const int32_t end = position + 1;
  return {window == 0 ? 0 : std::max(0, end - window), end};
}

SegmentRange visible_segments(const AttentionContext& context, std::span<const AttentionRow> rows) {
  int32_t begin = std::numeric_limits<int32_t>::max();
  int32_t end = 0;
  for (const AttentionRow& row : rows) {
    const VisibleRange& visible = row.visible;
    if (visible.begin < visible.end) {
      begin = std::min(begin, visible.begin);
      end = std::max(end, visible.end);
    }
    const int32_t sinks = std::min(context.sinks, visible.end);
    if (sinks > 0) {
      begin = 0;
      end = std::max(end, sinks);
    }
  }
  if (begin >= end) return {0, 0};
  return {begin / kSegmentTokens, (end - 1) / kSegmentTokens + 1};
}

const char* attention_kernel_name(const AttentionKernel& kernel) { return kernel.name; }

size_t partial_floats(const CacheLayout& layout) { return partial_stride(layout.padded_dim()); }

size_t attention_scratch_bytes(const CacheLayout& layout) {
  return kScoreBytes + kCodeBytes + 3 * kRowFloats * sizeof(float) +
         query_bytes(layout.padded_dim()) + 2 * tile_partial_bytes(layout.padded_dim());
}

void attend_segments(const AttentionKernel& kernel, const AttentionContext& context,
                     std::span<const AttentionRow> rows, SegmentRange segments, float* partials,
                     std::span<std::byte> scratch) {
  assert(kernel.dtype == context.layout->dtype());
  const Scratch parts = divide(scratch, context.layout->padded_dim());
  SegmentTile tile = prepare(context, rows, parts);
  const size_t stride = rows.size() * partial_stride(tile.padded_dim);
  for (int32_t s = segments.first; s < segments.last; ++s) {
    tile.partials = partials + static_cast<size_t>(s - segments.first) * stride;
    attend_segment(kernel, context, rows, s, tile);
  }
}

void combine_partials(const AttentionKernel& kernel, const AttentionContext& context,
                      std::span<const AttentionRow> rows, SegmentRange segments, float* partials) {
  const int padded_dim = context.layout->padded_dim();
  const size_t stride = partial_stride(padded_dim);
  for (size_t r = 0; r < rows.size(); ++r) {
    float* running = partials + r * stride;
    for (int32_t s = segments.first + 1; s < segments.last; ++s) {
      const size_t index = static_cast<size_t>(s - segments.first) * rows.size() + r;
      kernel.merge(running, partials + index * stride, padded_dim);
    }
    write_out(rows[r], running, context.layout->head_dim(), padded_dim);
  }
}

void attend_rows(const AttentionKernel& kernel, const AttentionContext& context,
                 std::span<const AttentionRow> rows, std::span<std::byte> scratch) {
  assert(kernel.dtype == context.layout->dtype());
  const Scratch parts = divide(scratch, context.layout->padded_dim());
  SegmentTile tile = prepare(context, rows, parts);
  const size_t stride = partial_stride(tile.padded_dim);
  const SegmentRange segments = visible_segments(context, rows);
  assert(segments.first < segments.last);
  for (int32_t s = segments.first; s < segments.last; ++s) {
    tile.partials = s == segments.first ? parts.running : parts.segment;
    attend_segment(kernel, context, rows, s, tile);
    if (s == segments.first) continue;
    for (size_t r = 0; r < rows.size(); ++r) {
      kernel.merge(parts.running + r * stride, parts.segment + r * stride, tile.padded_dim);
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    write_out(rows[r], parts.running + r * stride, context.layout->head_dim(), tile.padded_dim);
  }
}

}  // namespace adze::ops
