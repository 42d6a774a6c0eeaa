// Fusions around linears: bias, query/key/value, gate/up, activation, residual.
#include <fmt/core.h>

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "graph/operator.h"
#include "graph/passes/rewrite.h"

namespace adze::graph {
namespace {

bool is_plain_linear(const Node& node) {
  return node.op->name == "linear" && node.inputs.size() == 1 && node.text("gate").empty() &&
         node.text("activation").empty();
}

bool single_matrix(const Node& node) { return linear_matrices(node).size() == 1; }

bool has_bias(const Node& node) { return !linear_biases(node).empty(); }

// The plain linear of a single matrix that alone produces `value`; else kNoId, with why in
// `reason`.
NodeId plain_producer(const Graph& graph, ValueId value, std::string& reason) {
  const NodeId linear = sole_producer(graph, value, is_linear, "a linear", reason);
  if (linear == kNoId) return kNoId;
  const Node& node = graph.node(linear);
  if (is_plain_linear(node) && single_matrix(node)) return linear;
  reason = fmt::format("{} has a gate, an activation, a residual or more matrices", node.name);
  return kNoId;
}

// One linear in place of `linear` and of `follower`, which alone reads it: `fused` with the name of
// `linear` and `suffix`, of which only inputs, weights and attributes count.
void fuse_follower(const PassContext& context, NodeId linear, NodeId follower,
                   std::string_view suffix, Node fused) {
  Graph& graph = context.graph;
  const NodeId id = graph.add_node("linear", fmt::format("{}+{}", graph.node(linear).name, suffix),
                                   std::move(fused.inputs), std::move(fused.weights),
                                   std::move(fused.attributes), context.source, follower);
  Node& result = graph.mutable_node(id);
  result.origins = graph.node(linear).origins;
  append_origins(result, graph.node(follower));
  const ValueId output = graph.node(follower).outputs[0];
  graph.remove(follower);
  graph.remove(linear);
  graph.adopt_output(id, 0, output);
  context.changed(graph.node(id).name);
}

int64_t activation_group(const PassContext& context, const Node& node) {
  return activation_group(context.options, node.weights[0]->info(context.source));
}

}  // namespace

void fuse_bias(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(id);
    if (node.op->name != "bias") continue;
    std::string reason;
    const NodeId linear = plain_producer(graph, node.inputs[0], reason);
    if (linear != kNoId && has_bias(graph.node(linear))) {
      reason = fmt::format("{} has a bias already", graph.node(linear).name);
    } else if (linear != kNoId) {
      Node fused = graph.node(linear);
      fused.weights.push_back(node.weights[0]);
      fused.attributes["bias"] = int64_t{1};
      fuse_follower(context, linear, id, "bias", std::move(fused));
      continue;
    }
    context.rejected(node.name, reason);
  }
}

namespace {

// Projections to heads that can share one linear, in order.
using Projections = std::vector<NodeId>;

void fuse_projections(const PassContext& context, const Projections& linears) {
  Graph& graph = context.graph;
  const Node first = graph.node(linears[0]);
  std::vector<Weight> weights;
  std::vector<Weight> biases;
  std::vector<ValueId> outputs;
  std::string axes;
  Node collected;  // origins
  for (const NodeId id : linears) {
    const Node& node = graph.node(id);
    weights.push_back(node.weights[0]);
    for (const Weight& bias : linear_biases(node)) biases.push_back(bias);
    outputs.push_back(node.outputs[0]);
    axes += (axes.empty() ? "" : ",") + node.text("axis");
    append_origins(collected, node);
  }
  weights.insert(weights.end(), biases.begin(), biases.end());
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
  // Head projections by what they read, their head_dim, what they ask of their activations, and
  // whether they have a bias.
  std::map<ValueId, std::map<std::tuple<int64_t, int64_t, bool>, Projections>> by_input;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_plain_linear(node) || !single_matrix(node)) continue;
    const std::string& axis = node.text("axis");
    if (axis != "heads" && axis != "kv_heads") continue;
    const std::tuple key(node.integer("head_dim"), activation_group(context, node), has_bias(node));
    by_input[node.inputs[0]][key].push_back(id);
  }
  for (const auto& [input, kinds] : by_input) {
    for (const auto& [key, linears] : kinds) {
      if (linears.size() > 1) {
        fuse_projections(context, linears);
      } else {
        context.rejected(graph.node(linears[0]).name,
                         kinds.size() == 1
                             ? "no other projection reads its input"
                             : "other projections of its input differ in head_dim, in "
                               "the activations that their weights take, or in bias");
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
  if (!is_plain_linear(gate) || !is_plain_linear(up) || !single_matrix(gate) ||
      !single_matrix(up) || gate.inputs != up.inputs) {
    reason = fmt::format("{} and {} are not plain linears of one input, a matrix each", gate.name,
                         up.name);
    return std::nullopt;
  }
  if (has_bias(gate) != has_bias(up)) {
    reason = fmt::format("of {} and {} one has a bias", gate.name, up.name);
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
    const Node& up = graph.node(found->up);
    Attributes attributes = gate.attributes;
    attributes["gate"] = graph.node(found->activation).op->name;
    std::vector<Weight> weights = {gate.weights[0], up.weights[0]};
    for (const Node* projection : {&gate, &up}) {
      for (const Weight& bias : linear_biases(*projection)) weights.push_back(bias);
    }
    const NodeId fused =
        graph.add_node("linear", gate.name + "+up", gate.inputs, std::move(weights),
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

void fuse_activation(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(id);
    if (!is_activation(node.op->name)) continue;
    std::string reason;
    const NodeId linear = plain_producer(graph, node.inputs[0], reason);
    if (linear == kNoId) {
      context.rejected(node.name, reason);
      continue;
    }
    Node fused = graph.node(linear);
    fused.attributes["activation"] = node.op->name;
    fuse_follower(context, linear, id, node.op->name, std::move(fused));
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
    if (node.inputs[0] == node.inputs[1]) {
      context.rejected(node.name, "both operands are one value");
      continue;
    }
    std::string reasons[2];
    size_t operand = 0;
    NodeId linear = plain_producer(graph, node.inputs[0], reasons[0]);
    if (linear == kNoId) {
      operand = 1;
      linear = plain_producer(graph, node.inputs[1], reasons[1]);
    }
    if (linear == kNoId) {
      context.rejected(node.name, reasons[0] + "; " + reasons[1]);
      continue;
    }
    Node fused = graph.node(linear);
    fused.inputs.push_back(node.inputs[1 - operand]);
    fuse_follower(context, linear, sum, "residual", std::move(fused));
  }
}

}  // namespace adze::graph
