// What a graph has to do at least: multiplications of its linears, and the bytes of their weights.
#pragma once

#include "graph/graph.h"

namespace adze::measure {

struct Work {
  double row_operations = 0;      // of linears for each row: two per weight
  double sampled_operations = 0;  // of linears for each sampled row
  double weight_bytes = 0;        // of all linears, as they lie packed: what a decode has to read
};

Work linear_work(const graph::Graph& graph, const graph::WeightSource& source);

}  // namespace adze::measure
