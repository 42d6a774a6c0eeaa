#include "graph/memory_plan.h"

#include <algorithm>
#include <map>

#include "graph/operator.h"

namespace adze::graph {
namespace {

constexpr size_t kAlignment = 64;

size_t align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Free ranges of the arena by offset; neighbours are merged.
class FreeList {
 public:
  // The smallest free range that holds `bytes`, else new space at the end (joined with a free range
  // there).
  size_t allocate(size_t bytes) {
    auto best = ranges_.end();
    for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
      if (range->second >= bytes && (best == ranges_.end() || range->second < best->second)) {
        best = range;
      }
    }
    if (best == ranges_.end()) {
      size_t offset = end_;
      if (!ranges_.empty()) {
        const auto last = std::prev(ranges_.end());
        if (last->first + last->second == end_) {
          offset = last->first;
          ranges_.erase(last);
        }
      }
      end_ = offset + bytes;
      return offset;
    }
    const auto [offset, size] = *best;
    ranges_.erase(best);
    if (size > bytes) ranges_.emplace(offset + bytes, size - bytes);
    return offset;
  }

  void release(size_t offset, size_t bytes) {
    auto next = ranges_.upper_bound(offset);
    if (next != ranges_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        previous->second += bytes;
        return;
      }
    }
    ranges_.emplace(offset, bytes);
  }

  size_t end() const { return end_; }

 private:
  std::map<size_t, size_t> ranges_;  // offset → bytes
  size_t end_ = 0;
};

std::vector<MemoryPlan::Placement> liveness(const Graph& graph,
                                            const std::function<size_t(ValueId)>& bytes) {
  std::vector<MemoryPlan::Placement> placements(graph.value_count());
  const auto& order = graph.order();
  for (size_t index = 0; index < order.size(); ++index) {
    const Node& node = graph.node(order[index]);
    for (const ValueId output : node.outputs) {
      auto& placement = placements[static_cast<size_t>(output)];
      placement.bytes = align(bytes(output));
      placement.first_use = placement.last_use = static_cast<int32_t>(index);
    }
    for (const ValueId input : node.inputs) {
      placements[static_cast<size_t>(input)].last_use = static_cast<int32_t>(index);
    }
  }
  for (const ValueId output : graph.outputs()) {
    placements[static_cast<size_t>(output)].last_use = static_cast<int32_t>(order.size());
  }
  return placements;
}

// The input whose buffer the node's first output takes over, or kNoId.
ValueId in_place_input(const Graph& graph, const Node& node, int32_t index,
                       const std::vector<MemoryPlan::Placement>& placements) {
  const int32_t input_index = node.op->in_place_input;
  if (input_index == kNoId || input_index >= static_cast<int32_t>(node.inputs.size())) return kNoId;
  const ValueId input = node.inputs[static_cast<size_t>(input_index)];
  const auto& from = placements[static_cast<size_t>(input)];
  const auto& to = placements[static_cast<size_t>(node.outputs.front())];
  const bool dies = from.last_use == index && graph.value(input).producer != kNoId;
  const bool once = std::count(node.inputs.begin(), node.inputs.end(), input) == 1;
  return dies && once && from.bytes == to.bytes && from.bytes > 0 ? input : kNoId;
}

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const std::function<size_t(ValueId)>& bytes) {
  MemoryPlan plan;
  plan.placements = liveness(graph, bytes);
  FreeList arena;
  const auto& order = graph.order();
  for (size_t index = 0; index < order.size(); ++index) {
    const Node& node = graph.node(order[index]);
    const ValueId shared =
        in_place_input(graph, node, static_cast<int32_t>(index), plan.placements);
    for (const ValueId output : node.outputs) {
      auto& placement = plan.placements[static_cast<size_t>(output)];
      if (placement.bytes == 0) continue;
      plan.naive_bytes += placement.bytes;
      if (shared != kNoId && output == node.outputs.front()) {
        placement.offset = plan.placements[static_cast<size_t>(shared)].offset;
        placement.shares_with = shared;
      } else {
        placement.offset = arena.allocate(placement.bytes);
      }
    }
    // Dying values free their space after the outputs have theirs: a node never writes over what it
    // reads.
    std::vector<ValueId> dying(node.inputs);
    dying.insert(dying.end(), node.outputs.begin(), node.outputs.end());
    std::sort(dying.begin(), dying.end());
    dying.erase(std::unique(dying.begin(), dying.end()), dying.end());
    for (const ValueId value : dying) {
      const auto& placement = plan.placements[static_cast<size_t>(value)];
      if (placement.last_use == static_cast<int32_t>(index) && placement.offset != kNoBuffer &&
          value != shared) {
        arena.release(placement.offset, placement.bytes);
      }
    }
  }
  plan.peak_bytes = arena.end();
  return plan;
}

}  // namespace adze::graph
