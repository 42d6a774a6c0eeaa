// Attention: tiles of query rows that share a key head; few tiles over many keys are split by
// segment.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "graph/operator.h"
#include "ops/attention/attention.h"
#include "ops/attention/pattern.h"
#include "providers/cpu/step.h"

namespace adze::providers {
namespace {

using graph::BatchSequence;
using graph::RunContext;

// With fewer tiles than this per member, tiles become smaller, then segments are dealt out instead
// of tiles. A row's result does not depend on its tile.
constexpr int64_t kTilesPerMember = 4;
constexpr int32_t kMinTileRows = 16;
constexpr size_t kRangesPerRow = 2;  // sinks and window

class AttentionStep final : public Step {
 public:
  AttentionStep(const StepContext& context, const graph::Node& node)
      : kernels_(ops::attention_kernels(context.cpu.isa)),
        isa_(context.cpu.isa),
        layout_(context.cache_layout(node)),
        layer_offset_(context.layer_offset(node)),
        group_(static_cast<size_t>(node.integer("group"))),
        state_(context.graph.state_groups()[group_]),
        query_(node.inputs[0]),
        output_(node.outputs[0]),
        scale_(static_cast<float>(*context.graph.constant(node.inputs[2]))),
        scratch_(context.scratch) {
    heads_ = static_cast<int32_t>(context.graph.value(query_).shape[1].size);
    heads_per_kv_ = heads_ / layout_.kv_heads;
    int64_t reach = context.options.max_context;
    int32_t sink_segments = 0;
    if (state_.window > 0) {
      // A tile's rows span up to kMaxAttentionRows positions, from anywhere in a segment on.
      reach = std::min<int64_t>(
          reach, int64_t{state_.window} + ops::kMaxAttentionRows + ops::kSegmentTokens);
      sink_segments = state_.sinks > 0 ? ops::segment_of(state_.sinks - 1) + 1 : 0;
    }
    max_segments_ = ops::segment_of(static_cast<int32_t>(reach)) + 1 + sink_segments;
    row_floats_ = ops::partial_floats(layout_.head_dim);
    // Split tiles keep their partial results until all segments are there.
    const size_t split_rows = kMinTileRows * static_cast<size_t>(max_segments_) *
                              static_cast<size_t>(kTilesPerMember * context.members);
    context.scratch.need_shared(split_rows * row_floats_ * sizeof(float));
    context.scratch.need_per_member(2 * ops::kMaxAttentionRows * row_floats_ * sizeof(float));
  }

  void run(const RunContext& context) override {
    // Every member decides alike: the batch decides.
    const int64_t enough = kTilesPerMember * context.members;
    int32_t tile_rows = ops::kMaxAttentionRows;
    while (tile_rows > kMinTileRows && tile_count(context, tile_rows) < enough) tile_rows /= 2;
    if (tile_count(context, tile_rows) < enough && most_segments(context) > 1) {
      run_split(context);
    } else {
      run_whole(context, tile_rows);
    }
  }

  int barriers() const override { return 1; }
  std::string kernels() const override {
    return fmt::format("{}: paged online softmax, {} cache, tiles of up to {} rows, segments of {}",
                       isa_name(isa_), ops::cache_dtype_name(layout_.dtype), ops::kMaxAttentionRows,
                       ops::kSegmentTokens);
  }

 private:
  struct Tile {
    std::array<ops::AttentionRow, ops::kMaxAttentionRows> rows;
    std::array<ops::KeyRange, ops::kMaxAttentionRows * kRangesPerRow> ranges;
    ops::AttentionTile arguments;
  };

  // At most, of any sequence's rows.
  int32_t most_segments(const RunContext& context) const {
    int32_t most = 1;
    for (const BatchSequence& sequence : context.batch->sequences) {
      most = std::max(most, ops::segment_of(sequence.first_position + sequence.rows - 1) + 1);
    }
    return std::min(most, max_segments_);
  }

  // Tiles per key head: query rows × heads of a group, in that order.
  int64_t tile_count(const BatchSequence& sequence, int32_t tile_rows) const {
    const int64_t rows = int64_t{sequence.rows} * heads_per_kv_;
    return (rows + tile_rows - 1) / tile_rows;
  }
  int64_t tile_count(const RunContext& context, int32_t tile_rows) const {
    int64_t tiles = 0;
    for (const BatchSequence& sequence : context.batch->sequences) {
      tiles += tile_count(sequence, tile_rows) * layout_.kv_heads;
    }
    return tiles;
  }

  // Rows from `begin` on of the sequence's rows × heads of the group.
  void make_tile(const RunContext& context, const BatchSequence& sequence, int32_t kv_head,
                 int64_t begin, int32_t tile_rows, Tile& tile) const {
    const auto dims = static_cast<int64_t>(layout_.head_dim);
    const int64_t end =
        std::min<int64_t>(int64_t{sequence.rows} * heads_per_kv_, begin + tile_rows);
    const ops::AttentionPattern pattern = {state_.window, state_.sinks, {}};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = sequence.first_row + i / heads_per_kv_;
      const int64_t head = int64_t{kv_head} * heads_per_kv_ + i % heads_per_kv_;
      const int64_t at = (row * heads_ + head) * dims;
      const auto position = static_cast<int32_t>(sequence.first_position + i / heads_per_kv_);
      ops::KeyRange* ranges = tile.ranges.data() + (i - begin) * int64_t{kRangesPerRow};
      const size_t count = ops::visible_ranges(pattern, position, ranges);
      tile.rows[static_cast<size_t>(i - begin)] = {buffer<float>(context, query_) + at,
                                                   {ranges, count},
                                                   buffer<float>(context, output_) + at};
    }
    tile.arguments = {&layout_,      sequence.blocks[group_],
                      layer_offset_, kv_head,
                      scale_,        std::span(tile.rows).first(static_cast<size_t>(end - begin))};
  }

  // Calls body(tile, its number) for all tiles of the batch for which mine(number) holds.
  template <class Mine, class Body>
  void for_each_tile(const RunContext& context, int32_t tile_rows, Mine mine, Body body) const {
    int64_t number = 0;
    Tile tile;
    for (const BatchSequence& sequence : context.batch->sequences) {
      for (int32_t kv_head = 0; kv_head < layout_.kv_heads; ++kv_head) {
        for (int64_t index = 0; index < tile_count(sequence, tile_rows); ++index, ++number) {
          if (!mine(number)) continue;
          make_tile(context, sequence, kv_head, index * tile_rows, tile_rows, tile);
          body(tile.arguments, number);
        }
      }
    }
  }

  void run_whole(const RunContext& context, int32_t tile_rows) {
    auto* sums = reinterpret_cast<float*>(scratch_.of_member(context.member));
    float* partials = sums + ops::kMaxAttentionRows * row_floats_;
    for_each_tile(
        context, tile_rows,
        [&](int64_t number) { return number % context.members == context.member; },
        [&](const ops::AttentionTile& tile, int64_t) {
          ops::clear_partials(sums, row_floats_, tile.rows.size(), layout_.head_dim);
          for (int32_t s = ops::next_segment(tile.rows, 0); s >= 0;
               s = ops::next_segment(tile.rows, s + 1)) {
            kernels_.segment(tile, s, partials, row_floats_);
            kernels_.fold(tile, s, partials, row_floats_, sums, row_floats_);
          }
          kernels_.finish(tile, sums, row_floats_);
        });
  }

  void run_split(const RunContext& context) {
    // Of the tile's `index`th segment that any row sees.
    const auto partials = [&](int64_t number, int64_t index) {
      return reinterpret_cast<float*>(scratch_.shared()) +
             static_cast<size_t>(number * max_segments_ + index) * kMinTileRows * row_floats_;
    };
    int64_t turn = 0;
    for_each_tile(
        context, kMinTileRows, [](int64_t) { return true; },
        [&](const ops::AttentionTile& tile, int64_t number) {
          int64_t index = 0;
          for (int32_t s = ops::next_segment(tile.rows, 0); s >= 0;
               s = ops::next_segment(tile.rows, s + 1), ++index) {
            if (turn++ % context.members != context.member) continue;
            kernels_.segment(tile, s, partials(number, index), row_floats_);
          }
        });
    context.barrier->wait();
    auto* sums = reinterpret_cast<float*>(scratch_.of_member(context.member));
    for_each_tile(
        context, kMinTileRows,
        [&](int64_t number) { return number % context.members == context.member; },
        [&](const ops::AttentionTile& tile, int64_t number) {
          ops::clear_partials(sums, row_floats_, tile.rows.size(), layout_.head_dim);
          int64_t index = 0;
          for (int32_t s = ops::next_segment(tile.rows, 0); s >= 0;
               s = ops::next_segment(tile.rows, s + 1), ++index) {
            kernels_.fold(tile, s, partials(number, index), row_floats_, sums, row_floats_);
          }
          kernels_.finish(tile, sums, row_floats_);
        });
  }

  const ops::AttentionKernels& kernels_;
  Isa isa_;
  ops::CacheLayout layout_;
  size_t layer_offset_;
  size_t group_;
  const graph::StateGroup& state_;
  graph::ValueId query_;
  graph::ValueId output_;
  float scale_;
  const Scratch& scratch_;
  int32_t heads_ = 0;
  int32_t heads_per_kv_ = 0;
  int32_t max_segments_ = 0;
  size_t row_floats_ = 0;
};

}  // namespace

std::unique_ptr<Step> make_attention_step(const StepContext& context, const graph::Node& node) {
  return std::make_unique<AttentionStep>(context, node);
}

}  // namespace adze::providers
