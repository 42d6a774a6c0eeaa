#include "graph/passes/rewrite.h"

#include <fmt/core.h>

#include "graph/operator.h"

namespace adze::graph {
NodeId sole_producer(const Graph& graph, ValueId value, bool (*is_kind)(std::string_view op),
                     std::string_view kind, std::string& reason) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoId || !is_kind(graph.node(producer).op->name)) {
    reason = fmt::format("{} is not produced by {}", graph.value(value).name, kind);
    return kNoId;
  }
  if (graph.readers(value).size() != 1 || graph.is_output(value)) {
    reason = fmt::format("{} has other readers", graph.value(value).name);
    return kNoId;
  }
  return producer;
}

void append_origins(Node& node, const Node& other) {
  node.origins.insert(node.origins.end(), other.origins.begin(), other.origins.end());
}

}  // namespace adze::graph
