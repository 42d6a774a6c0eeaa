// Constant folding, and the removal of identity and dead operators.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "graph/operator.h"
#include "graph/passes/pass.h"

namespace adze::graph {
namespace {

bool all_outputs_unread(const Graph& graph, const Node& node) {
  return std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
    return graph.is_output(output) || !graph.readers(output).empty();
  });
}

// The input that the node returns unchanged, or kNoId.
ValueId returned_input(const Graph& graph, const Node& node) {
  if (node.op->name == "identity") return node.inputs[0];
  const bool product = node.op->name == "multiply";
  if (!product && node.op->name != "add") return kNoId;
  const double neutral = product ? 1.0 : 0.0;
  for (size_t i = 0; i < 2; ++i) {
    // x + (−0) is x for every x; x + (+0) turns −0 into +0, which no later operator tells apart.
    if (graph.constant(node.inputs[i]) == neutral) return node.inputs[1 - i];
  }
  return kNoId;
}

}  // namespace

void fold_constants(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node& node = graph.node(id);
    if (node.op->name == "constant" || node.outputs.size() != 1) continue;
    const std::optional<double> value = graph.constant(node.outputs[0]);
    if (!value) continue;
    context.changed(fmt::format("{} = {}", node.name, *value));
    const ValueId output = node.outputs[0];
    const NodeId constant =
        graph.add_node("constant", node.name, {}, {}, {{"value", *value}}, context.source, id);
    graph.replace_uses(output, graph.node(constant).outputs[0]);
    graph.remove(id);
  }
}

void eliminate_identities(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node& node = graph.node(id);
    const ValueId input = returned_input(graph, node);
    if (input == kNoId) continue;
    context.changed(fmt::format("{} ({})", node.name, node.op->name));
    graph.replace_uses(node.outputs[0], input);
    graph.remove(id);
  }
}

void eliminate_dead(const PassContext& context) {
  Graph& graph = context.graph;
  const std::vector<NodeId> order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    if (node.op->side_effect || !all_outputs_unread(graph, node)) continue;
    context.changed(fmt::format("{} ({})", node.name, node.op->name));
    graph.remove(*id);
  }
}

}  // namespace adze::graph
