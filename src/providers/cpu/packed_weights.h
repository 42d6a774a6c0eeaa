// The packed copies of a partition's weights, one per distinct expression.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/thread_pool.h"
#include "graph/graph.h"
#include "graph/provider.h"
#include "ops/linear/packed.h"

namespace adze::providers {

struct PackedWeight {
  ops::PackedFormat format;
  int64_t rows = 0;
  int64_t columns = 0;
  // In the arena of PackedWeights, or where the source has it.
  const std::byte* panels = nullptr;

  size_t bytes() const { return ops::packed_bytes(format, rows, columns); }
};

// All weights that are packed here lie in one arena. Immutable once made.
class PackedWeights {
 public:
  // Reads and packs what `nodes` refer to, in parallel, a few panels at a time, unless the source,
  // which then outlives this, has it packed. Norm weights (one row) become float32.
  PackedWeights(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                const graph::WeightSource& source, ThreadPool& pool,
                const graph::LoadProgress& progress);

  const PackedWeight& matrix(const graph::Weight& weight) const;
  // A vector's elements.
  std::span<const float> vector(const graph::Weight& weight) const;
  size_t bytes() const;
  // bytes() by dtype and format.
  std::vector<graph::PackedBytes> by_dtype() const;
  std::vector<graph::PackedMatrix> matrices() const;

 private:
  HugeBuffer arena_;
  std::map<std::string, PackedWeight> matrices_;  // by expression
  struct PackedVector {
    DType source = DType::kF32;
    std::vector<float> values;
  };
  std::map<std::string, PackedVector> vectors_;
};

}  // namespace adze::providers
