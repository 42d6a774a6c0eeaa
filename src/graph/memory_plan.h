// Where the values of a run live in one arena: liveness, in-place reuse, best fit.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/provider.h"

namespace adze::graph {

inline constexpr size_t kNoBuffer = static_cast<size_t>(-1);

struct MemoryPlan {
  struct Placement {
    size_t offset = kNoBuffer;  // bytes from the arena's start, a multiple of 64; kNoBuffer: the
                                // value has no bytes
    size_t bytes = 0;
    int32_t first_use = 0;        // index in the graph's order of the producing node
    int32_t last_use = 0;         // index of the last node that reads it
    ValueId shares_with = kNoId;  // the dying input whose buffer it took over
  };
  std::vector<Placement> placements;  // by ValueId
  size_t peak_bytes = 0;              // the arena's size
  size_t naive_bytes = 0;             // a buffer for every value
};

// Inputs of the graph have no buffer (they come with the batch); outputs live to the end. Every
// node is taken to be separated from the next by a barrier. `bytes` gives a value's size.
MemoryPlan plan_memory(const Graph& graph, const std::function<size_t(ValueId)>& bytes);

}  // namespace adze::graph
