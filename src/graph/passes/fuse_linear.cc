// Fusions around linears: query/key/value, gate/up, residual.
#include <fmt/core.h>

#include <map>
#include <optional>
#include <utility>

#include "graph/operator.h"
#include "graph/passes/rewrite.h"

namespace adze::graph {
namespace {

bool is_plain_linear(const Node& node) {
  return node.op->name == "linear" && node.inputs.size() == 1 && node.text("gate").empty();
}

bool single_weight(const Node& node) { return node.weights.size() == 1; }

int64_t activation_group(const PassContext& context, const Node& node) {
  return activation_group(context.options, node.weights[0]->info(context.source));
}

// Projections to heads that can share one linear, in order.
using Projections = std::vector<NodeId>;

void fuse_projections(const PassContext& context, const Projections& linears) {
  Graph& graph = context.graph;
  const Node first = graph.node(linears[0]);
  std::vector<Weight> weights;
  std::vector<ValueId> outputs;
  std::string axes;
  Node collected;  // origins
  for (const NodeId id : linears) {
    const Node& node = graph.node(id);
    weights.push_back(node.weights[0]);
    outputs.push_back(node.outputs[0]);
    axes += (axes.empty() ? "" : ",") + node.text("axis");
    append_origins(collected, node);
  }
  Attributes attributes = first.attributes;
  attributes["axis"] = axes;
  const NodeId fused =
      graph.add_node("linear", fmt::format("{}+{}", first.name, linears.size() - 1), first.inputs,
                     std::move(weights), std::move(attributes), context.source, linears[0]);
  for (const NodeId id : linears) graph.remove(id);
  for (size_t i = 0; i < outputs.size(); ++i) graph.adopt_output(fused, i, outputs[i]);
  Node& result = graph.mutable_node(fused);
  result.origins = std::move(collected.origins);
  context.changed(fmt::format("{}: {} linears", result.name, linears.size()));
}

}  // namespace

void fuse_qkv(const PassContext& context) {
  const Graph& graph = context.graph;
  // Head projections by what they read, their head_dim, and what they ask of their activations.
  std::map<ValueId, std::map<std::pair<int64_t, int64_t>, Projections>> by_input;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_plain_linear(node) || !single_weight(node)) continue;
    const std::string& axis = node.text("axis");
    if (axis != "heads" && axis != "kv_heads") continue;
    const std::pair key(node.integer("head_dim"), activation_group(context, node));
    by_input[node.inputs[0]][key].push_back(id);
  }
  for (const auto& [input, kinds] : by_input) {
    for (const auto& [key, linears] : kinds) {
      if (linears.size() > 1) {
        fuse_projections(context, linears);
      } else {
        context.rejected(graph.node(linears[0]).name,
                         kinds.size() == 1 ? "no other projection reads its input"
                                           : "other projections of its input differ in head_dim or "
                                             "in the activations that their weights take");
      }
    }
  }
}

namespace {

// The nodes of act(gate(x)) · up(x).
struct GatedProduct {
  NodeId gate = kNoId;
  NodeId activation = kNoId;
  NodeId up = kNoId;
};

// The gated product whose activated operand is the `i`-th of `product`; else nothing, and why not.
std::optional<GatedProduct> match_gated_product(const PassContext& context, const Node& product,
                                                size_t i, std::string& reason) {
  const Graph& graph = context.graph;
  GatedProduct found;
  found.activation =
      sole_producer(graph, product.inputs[i], is_activation, "an activation", reason);
  if (found.activation == kNoId) return std::nullopt;
  found.gate =
      sole_producer(graph, graph.node(found.activation).inputs[0], is_linear, "a linear", reason);
  if (found.gate == kNoId) return std::nullopt;
  found.up = sole_producer(graph, product.inputs[1 - i], is_linear, "a linear", reason);
  if (found.up == kNoId) return std::nullopt;
  const Node& gate = graph.node(found.gate);
  const Node& up = graph.node(found.up);
  if (!is_plain_linear(gate) || !is_plain_linear(up) || !single_weight(gate) ||
      !single_weight(up) || gate.inputs != up.inputs) {
    reason = fmt::format("{} and {} are not plain linears of one input, a weight each", gate.name,
                         up.name);
    return std::nullopt;
  }
  if (activation_group(context, gate) != activation_group(context, up)) {
    reason = fmt::format("the weights of {} and {} take different activations", gate.name, up.name);
    return std::nullopt;
  }
  return found;
}

}  // namespace

void fuse_gate_up(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId product : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(product);
    if (node.op->name != "multiply" || graph.constant(node.inputs[0]) ||
        graph.constant(node.inputs[1])) {
      continue;
    }
    std::string reasons[2];
    std::optional<GatedProduct> found = match_gated_product(context, node, 0, reasons[0]);
    if (!found) found = match_gated_product(context, node, 1, reasons[1]);
    if (!found) {
      context.rejected(node.name, reasons[0] + "; " + reasons[1]);
      continue;
    }
    const Node gate = graph.node(found->gate);
    Attributes attributes = gate.attributes;
    attributes["gate"] = graph.node(found->activation).op->name;
    const NodeId fused = graph.add_node("linear", gate.name + "+up", gate.inputs,
                                        {gate.weights[0], graph.node(found->up).weights[0]},
                                        std::move(attributes), context.source, product);
    Node& result = graph.mutable_node(fused);
    result.origins.clear();
    for (const NodeId id : {found->gate, found->activation, found->up, product}) {
      append_origins(result, graph.node(id));
      graph.remove(id);
    }
    graph.adopt_output(fused, 0, node.outputs[0]);
    context.changed(fmt::format("{}: gate, {}, up and product", result.name, result.text("gate")));
  }
}

namespace {

// The linear behind operand `i` of a sum, if it can add the other operand as it writes.
NodeId linear_of_sum(const Graph& graph, const Node& sum, size_t i, std::string& reason) {
  const NodeId linear = sole_producer(graph, sum.inputs[i], is_linear, "a linear", reason);
  if (linear == kNoId) return kNoId;
  const Node& node = graph.node(linear);
  if (is_plain_linear(node) && single_weight(node)) return linear;
  reason = fmt::format("{} has a gate, a residual or more weights", node.name);
  return kNoId;
}

}  // namespace

void fuse_residual(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId sum : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(sum);
    if (node.op->name != "add" || graph.constant(node.inputs[0]) ||
        graph.constant(node.inputs[1])) {
      continue;
    }
    if (node.inputs[0] == node.inputs[1]) {
      context.rejected(node.name, "both operands are one value");
      continue;
    }
    std::string reasons[2];
    size_t operand = 0;
    NodeId linear = linear_of_sum(graph, node, 0, reasons[0]);
    if (linear == kNoId) linear = linear_of_sum(graph, node, operand = 1, reasons[1]);
    if (linear == kNoId) {
      context.rejected(node.name, reasons[0] + "; " + reasons[1]);
      continue;
    }
    const Node from = graph.node(linear);
    const NodeId fused = graph.add_node("linear", from.name + "+residual",
                                        {from.inputs[0], node.inputs[1 - operand]}, from.weights,
                                        from.attributes, context.source, sum);
    Node& result = graph.mutable_node(fused);
    result.origins = from.origins;
    append_origins(result, node);
    graph.remove(sum);
    graph.remove(linear);
    graph.adopt_output(fused, 0, node.outputs[0]);
    context.changed(result.name);
  }
}

}  // namespace adze::graph
