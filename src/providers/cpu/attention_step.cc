// Attention: tiles of query rows that share a key head; few tiles over many keys are split by
// segment.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "graph/operator.h"
#include "ops/attention/attention.h"
#include "providers/cpu/step.h"

namespace adze::providers {
namespace {

using graph::BatchSequence;
using graph::RunContext;

// With fewer tiles than this per member, segments are dealt out instead of tiles.
constexpr int64_t kTilesPerMember = 4;

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
    if (state_.window > 0) {
      // A tile's rows span up to kMaxAttentionRows positions, from anywhere in a segment on.
      reach = std::min<int64_t>(
          reach, int64_t{state_.window} + ops::kMaxAttentionRows + ops::kSegmentTokens);
    }
    max_segments_ = ops::segment_of(static_cast<int32_t>(reach)) + 1;
    tile_floats_ = ops::partial_floats(layout_.head_dim) * static_cast<size_t>(max_segments_) *
                   ops::kMaxAttentionRows;
    // Split tiles keep their partial results until all segments are there.
    context.scratch.need_shared(tile_floats_ * sizeof(float) *
                                static_cast<size_t>(kTilesPerMember * context.members));
    context.scratch.need_per_member(tile_floats_ * sizeof(float));
  }

  void run(const RunContext& context) override {
    int64_t tiles = 0;
    int32_t segments = 1;
    for (const BatchSequence& sequence : context.batch->sequences) {
      tiles += tile_count(sequence) * layout_.kv_heads;
      segments = std::max(segments, most_segments(sequence));
    }
    // Every member decides alike: the batch decides.
    if (segments > 1 && tiles < kTilesPerMember * context.members) {
      run_split(context, segments);
    } else {
      run_whole(context);
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
    ops::AttentionTile arguments;
    int32_t first_segment = 0;  // that its first row sees
    int32_t segments = 0;       // from there to the last row's
  };

  // At most, of any tile of the sequence.
  int32_t most_segments(const BatchSequence& sequence) const {
    return std::min(max_segments_,
                    ops::segment_of(sequence.first_position + sequence.rows - 1) -
                        ops::segment_of(state_.first_visible(sequence.first_position)) + 1);
  }

  // Tiles per key head: query rows × heads of a group, in that order.
  int64_t tile_count(const BatchSequence& sequence) const {
    const int64_t rows = int64_t{sequence.rows} * heads_per_kv_;
    return (rows + ops::kMaxAttentionRows - 1) / ops::kMaxAttentionRows;
  }

  void make_tile(const RunContext& context, const BatchSequence& sequence, int32_t kv_head,
                 int64_t index, Tile& tile) const {
    const auto dims = static_cast<int64_t>(layout_.head_dim);
    const int64_t begin = index * ops::kMaxAttentionRows;
    const int64_t end =
        std::min<int64_t>(int64_t{sequence.rows} * heads_per_kv_, begin + ops::kMaxAttentionRows);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = sequence.first_row + i / heads_per_kv_;
      const int64_t head = int64_t{kv_head} * heads_per_kv_ + i % heads_per_kv_;
      const int64_t at = (row * heads_ + head) * dims;
      const auto position = static_cast<int32_t>(sequence.first_position + i / heads_per_kv_);
      tile.rows[static_cast<size_t>(i - begin)] = {buffer<float>(context, query_) + at,
                                                   state_.first_visible(position), position,
                                                   buffer<float>(context, output_) + at};
    }
    const auto count = static_cast<size_t>(end - begin);
    tile.arguments = {&layout_, sequence.blocks[group_],          layer_offset_, kv_head,
                      scale_,   std::span(tile.rows).first(count)};
    tile.first_segment = ops::segment_of(tile.rows[0].first);
    tile.segments = ops::segment_of(tile.rows[count - 1].position) - tile.first_segment + 1;
  }

  // Calls body(tile, its number) for all tiles of the batch.
  template <class Body>
  void for_each_tile(const RunContext& context, Body body) const {
    int64_t number = 0;
    Tile tile;
    for (const BatchSequence& sequence : context.batch->sequences) {
      for (int32_t kv_head = 0; kv_head < layout_.kv_heads; ++kv_head) {
        for (int64_t index = 0; index < tile_count(sequence); ++index, ++number) {
          body(sequence, kv_head, index, number, tile);
        }
      }
    }
  }

  void combine(const Tile& tile, const float* partials) const {
    const size_t floats = ops::partial_floats(layout_.head_dim);
    for (size_t r = 0; r < tile.arguments.rows.size(); ++r) {
      const ops::AttentionRow& row = tile.rows[r];
      const int32_t first = ops::segment_of(row.first);
      const auto skipped = static_cast<size_t>(first - tile.first_segment);
      kernels_.combine(partials + (r * static_cast<size_t>(max_segments_) + skipped) * floats,
                       floats, ops::segment_of(row.position) - first + 1, layout_.head_dim,
                       row.out);
    }
  }

  // Segment `index` of the tile's own.
  void segment(const Tile& tile, int32_t index, float* partials) const {
    const size_t floats = ops::partial_floats(layout_.head_dim);
    kernels_.segment(tile.arguments, tile.first_segment + index,
                     partials + static_cast<size_t>(index) * floats,
                     floats * static_cast<size_t>(max_segments_));
  }

  void run_whole(const RunContext& context) {
    auto* partials = reinterpret_cast<float*>(scratch_.of_member(context.member));
    for_each_tile(context, [&](const BatchSequence& sequence, int32_t kv_head, int64_t index,
                               int64_t number, Tile& tile) {
      if (number % context.members != context.member) return;
      make_tile(context, sequence, kv_head, index, tile);
      for (int32_t s = 0; s < tile.segments; ++s) segment(tile, s, partials);
      combine(tile, partials);
    });
  }

  void run_split(const RunContext& context, int32_t segments) {
    auto* shared = reinterpret_cast<float*>(scratch_.shared());
    for_each_tile(context, [&](const BatchSequence& sequence, int32_t kv_head, int64_t index,
                               int64_t number, Tile& tile) {
      make_tile(context, sequence, kv_head, index, tile);
      for (int32_t s = 0; s < tile.segments; ++s) {
        if ((number * segments + s) % context.members != context.member) continue;
        segment(tile, s, shared + tile_floats_ * static_cast<size_t>(number));
      }
    });
    context.barrier->wait();
    for_each_tile(context, [&](const BatchSequence& sequence, int32_t kv_head, int64_t index,
                               int64_t number, Tile& tile) {
      if (number % context.members != context.member) return;
      make_tile(context, sequence, kv_head, index, tile);
      combine(tile, shared + tile_floats_ * static_cast<size_t>(number));
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
  size_t tile_floats_ = 0;
};

}  // namespace

std::unique_ptr<Step> make_attention_step(const StepContext& context, const graph::Node& node) {
  return std::make_unique<AttentionStep>(context, node);
}

}  // namespace adze::providers
