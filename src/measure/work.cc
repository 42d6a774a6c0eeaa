#include "measure/work.h"

#include "graph/operator.h"
#include "ops/linear/packed.h"

namespace adze::measure {

Work linear_work(const graph::Graph& graph, const graph::WeightSource& source) {
  Work work;
  for (const graph::NodeId id : graph.order()) {
    const graph::Node& node = graph.node(id);
    if (node.op->name != "linear") continue;
    const bool sampled = graph.value(node.outputs[0]).shape.front().axis == graph::Axis::kSampled;
    for (const graph::Weight& weight : graph::linear_matrices(node)) {
      const graph::WeightInfo info = weight->info(source);
      const double operations =
          2.0 * static_cast<double>(info.rows) * static_cast<double>(info.columns);
      (sampled ? work.sampled_operations : work.row_operations) += operations;
      work.weight_bytes += static_cast<double>(
          ops::packed_bytes(ops::packed_format(info.dtype), info.rows, info.columns));
    }
  }
  return work;
}

}  // namespace adze::measure
