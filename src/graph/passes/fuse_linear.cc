// Fusions around linears: query/key/value, gate/up, residual.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "graph/operator.h"
#include "graph/passes/pass.h"

namespace adze::graph {
namespace {

bool is_plain_linear(const Node& node) {
  return node.op->name == "linear" && node.inputs.size() == 1 && node.text("gate").empty();
}

bool is_linear(std::string_view op) { return op == "linear"; }

// The node that produces `value` if its operator is one of `kind`, "a linear" for instance, and
// nothing else reads the value; else kNoId with the reason.
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

}  // namespace

void fuse_qkv(const PassContext& context) {
  Graph& graph = context.graph;
  std::map<ValueId, std::vector<NodeId>> by_input;  // head projections by what they read
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_plain_linear(node)) continue;
    const std::string& axis = node.text("axis");
    if (axis == "heads" || axis == "kv_heads") by_input[node.inputs[0]].push_back(id);
  }
  for (const auto& [input, linears] : by_input) {
    if (linears.size() < 2) {
      context.rejected(graph.node(linears[0]).name, "no other projection reads its input");
      continue;
    }
    const Node first = graph.node(linears[0]);
    std::vector<Weight> weights;
    std::vector<ValueId> outputs;
    std::vector<std::string> origins;
    std::string axes;
    bool same_head_dim = true;
    for (const NodeId id : linears) {
      const Node& node = graph.node(id);
      same_head_dim &= node.integer("head_dim") == first.integer("head_dim");
      weights.insert(weights.end(), node.weights.begin(), node.weights.end());
      outputs.insert(outputs.end(), node.outputs.begin(), node.outputs.end());
      origins.insert(origins.end(), node.origins.begin(), node.origins.end());
      axes += (axes.empty() ? "" : ",") + node.text("axis");
    }
    if (!same_head_dim) {
      context.rejected(first.name, "projections differ in head_dim");
      continue;
    }
    Attributes attributes = first.attributes;
    attributes["axis"] = axes;
    const NodeId fused =
        graph.add_node("linear", first.name + "+" + std::to_string(linears.size() - 1), {input},
                       std::move(weights), std::move(attributes), context.source, linears[0]);
    for (const NodeId id : linears) graph.remove(id);
    for (size_t i = 0; i < outputs.size(); ++i) graph.adopt_output(fused, i, outputs[i]);
    context.changed(fmt::format("{}: {} linears", graph.node(fused).name, linears.size()));
    graph.mutable_node(fused).origins = std::move(origins);
  }
}

void fuse_gate_up(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId product : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(product);
    if (node.op->name != "multiply" || graph.constant(node.inputs[0]) ||
        graph.constant(node.inputs[1])) {
      continue;
    }
    std::string reason;
    const NodeId activation =
        sole_producer(graph, node.inputs[0], is_activation, "an activation", reason);
    const NodeId gate = activation == kNoId ? kNoId
                                            : sole_producer(graph, graph.node(activation).inputs[0],
                                                            is_linear, "a linear", reason);
    const NodeId up =
        gate == kNoId ? kNoId : sole_producer(graph, node.inputs[1], is_linear, "a linear", reason);
    if (up != kNoId &&
        (!is_plain_linear(graph.node(gate)) || !is_plain_linear(graph.node(up)) || gate == up ||
         graph.node(gate).weights.size() != 1 || graph.node(up).weights.size() != 1 ||
         graph.node(gate).inputs != graph.node(up).inputs)) {
      reason = "gate and up are not plain linears of one input, a weight each";
    }
    if (!reason.empty()) {
      context.rejected(node.name, reason);
      continue;
    }
    Attributes attributes = graph.node(gate).attributes;
    const std::string gate_activation = graph.node(activation).op->name;
    attributes["gate"] = gate_activation;
    const NodeId fused =
        graph.add_node("linear", graph.node(gate).name + "+up", graph.node(gate).inputs,
                       {graph.node(gate).weights[0], graph.node(up).weights[0]},
                       std::move(attributes), context.source, product);
    Node& result = graph.mutable_node(fused);
    result.origins.clear();
    for (const NodeId id : {gate, activation, up, product}) {
      append_origins(result, graph.node(id));
    }
    for (const NodeId id : {product, activation, gate, up}) graph.remove(id);
    graph.adopt_output(fused, 0, node.outputs[0]);
    context.changed(fmt::format("{}: gate, {}, up and product", result.name, gate_activation));
  }
}

void fuse_residual(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId sum : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(sum);
    if (node.op->name != "add" || graph.constant(node.inputs[0]) ||
        graph.constant(node.inputs[1])) {
      continue;
    }
    std::string reason;
    NodeId linear = kNoId;
    size_t operand = 0;
    for (size_t i = 0; i < 2 && linear == kNoId; ++i) {
      linear = sole_producer(graph, node.inputs[i], is_linear, "a linear", reason);
      operand = i;
    }
    if (linear == kNoId || !is_plain_linear(graph.node(linear)) ||
        graph.node(linear).weights.size() != 1) {
      context.rejected(node.name,
                       linear == kNoId ? reason : "the linear has a gate or more weights");
      continue;
    }
    const Node& from = graph.node(linear);
    const ValueId residual = node.inputs[1 - operand];
    const NodeId fused =
        graph.add_node("linear", from.name + "+residual", {from.inputs[0], residual}, from.weights,
                       from.attributes, context.source, sum);
    Node& result = graph.mutable_node(fused);
    result.origins = graph.node(linear).origins;
    append_origins(result, node);
    graph.remove(sum);
    graph.remove(linear);
    graph.adopt_output(fused, 0, node.outputs[0]);
    context.changed(result.name);
  }
}

}  // namespace adze::graph
