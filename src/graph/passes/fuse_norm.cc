// Fusions around norms: with the residual before them, with the quantization behind them.
#include <fmt/core.h>

#include <optional>

#include "graph/operator.h"
#include "graph/passes/rewrite.h"

namespace adze::graph {
namespace {

bool is_norm(std::string_view op) { return op == "rms_norm"; }
bool is_sum(std::string_view op) { return op == "add"; }

// Over all of a row, in float32.
bool is_row_norm(const PassContext& context, const Node& node) {
  return is_norm(node.op->name) && node.integer("quantization_group") == 0 &&
         node.weights[0]->info(context.source).columns ==
             row_elements(context.graph.value(node.inputs[0]).shape);
}

// The operand of a sum that is a norm of its own, which nothing else reads.
struct NormedOperand {
  size_t index = 0;
  NodeId norm = kNoId;
};
std::optional<NormedOperand> find_normed_operand(const PassContext& context, const Node& sum) {
  for (const size_t index : {1, 0}) {
    std::string reason;
    const NodeId norm = sole_producer(context.graph, sum.inputs[index], is_norm, "a norm", reason);
    if (norm != kNoId && is_row_norm(context, context.graph.node(norm))) {
      return NormedOperand{index, norm};
    }
  }
  return std::nullopt;
}

// Why the sum in front of a norm is not one to fuse with; empty where it is.
std::string sum_is_unfit(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoId || !is_sum(graph.node(producer).op->name)) {
    return fmt::format("{} is not produced by a sum", graph.value(value).name);
  }
  const Node& sum = graph.node(producer);
  if (graph.constant(sum.inputs[0]) || graph.constant(sum.inputs[1])) {
    return fmt::format("{} adds a constant", sum.name);
  }
  if (sum.inputs[0] == sum.inputs[1]) return fmt::format("{} adds a value to itself", sum.name);
  return {};
}

}  // namespace

void fuse_residual_norm(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    if (graph.node(id).removed || !is_row_norm(context, graph.node(id))) continue;
    const Node norm = graph.node(id);
    if (const std::string reason = sum_is_unfit(graph, norm.inputs[0]); !reason.empty()) {
      context.rejected(norm.name, reason);
      continue;
    }
    const NodeId sum_id = graph.value(norm.inputs[0]).producer;
    const Node sum = graph.node(sum_id);
    Attributes attributes = norm.attributes;
    std::vector<ValueId> inputs = sum.inputs;
    std::vector<Weight> weights = norm.weights;
    Node collected;  // origins
    const auto post = find_normed_operand(context, sum);
    if (post) {
      const Node& first = graph.node(post->norm);
      inputs = {sum.inputs[1 - post->index], first.inputs[0]};
      weights.insert(weights.begin(), first.weights[0]);
      attributes["post_epsilon"] = first.real("epsilon");
      append_origins(collected, first);
    }
    append_origins(collected, sum);
    append_origins(collected, norm);
    // In the sum's place: the norm needs nothing else.
    const NodeId fused =
        graph.add_node("residual_norm", sum.name + "+norm", std::move(inputs), std::move(weights),
                       std::move(attributes), context.source, sum_id);
    Node& result = graph.mutable_node(fused);
    result.origins = std::move(collected.origins);
    if (post) graph.remove(post->norm);
    graph.remove(sum_id);
    graph.remove(id);
    graph.adopt_output(fused, 0, sum.outputs[0]);
    graph.adopt_output(fused, 1, norm.outputs[0]);
    context.changed(fmt::format("{}: {}sum and norm", result.name, post ? "norm, " : ""));
  }
}

namespace {

bool writes_norm(std::string_view op) { return is_norm(op) || op == "residual_norm"; }

// Says why a norm goes on writing float32 where nothing after it quantizes its rows.
void explain_float_norm(const PassContext& context, const Node& norm) {
  if (norm.integer("quantization_group") > 0) return;
  for (const NodeId reader : context.graph.readers(norm.outputs.back())) {
    if (context.graph.node(reader).op->name == "quantize") return;
  }
  context.rejected(norm.name, "its readers take float32: there is no quantize to fuse with");
}

}  // namespace

void fuse_norm_quantize(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(id);
    if (writes_norm(node.op->name)) explain_float_norm(context, node);
    if (node.op->name != "quantize") continue;
    const NodeId norm = graph.value(node.inputs[0]).producer;
    // Of a norm with a sum the last output is normed.
    if (norm == kNoId || !writes_norm(graph.node(norm).op->name) ||
        graph.node(norm).outputs.back() != node.inputs[0]) {
      context.rejected(node.name, "its input does not come from a norm");
      continue;
    }
    if (graph.readers(node.inputs[0]).size() != 1 || graph.is_output(node.inputs[0])) {
      context.rejected(node.name, "the norm has other readers");
      continue;
    }
    const Node from = graph.node(norm);
    Attributes attributes = from.attributes;
    attributes["quantization_group"] = node.integer("quantization_group");
    attributes["bits"] = node.integer("bits");
    const NodeId fused =
        graph.add_node(from.op->name, fmt::format("{}+int{}", from.name, node.integer("bits")),
                       from.inputs, from.weights, std::move(attributes), context.source, norm);
    Node& result = graph.mutable_node(fused);
    result.origins = from.origins;
    append_origins(result, node);
    graph.remove(id);
    graph.remove(norm);
    for (size_t i = 0; i + 1 < from.outputs.size(); ++i) {
      graph.adopt_output(fused, i, from.outputs[i]);
    }
    graph.adopt_output(fused, from.outputs.size() - 1, node.outputs[0]);
    context.changed(result.name);
  }
}

}  // namespace adze::graph
