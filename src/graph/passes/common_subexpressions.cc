// One node for every value that several nodes compute alike.
#include <fmt/core.h>

#include <bit>
#include <map>
#include <variant>

#include "graph/operator.h"
#include "graph/passes/rewrite.h"

namespace adze::graph {
namespace {

// Reals by their bits: 0 and −0 are different numbers to divide by.
std::string exact_text(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&attribute)) {
    return fmt::format("{:x}", std::bit_cast<uint64_t>(*real));
  }
  return std::get<AttributeText>(attribute).text;
}

// Equal for nodes that compute the same: operator, inputs, weights, attributes with their defaults.
std::vector<std::string> expression_of(const Node& node) {
  std::vector<std::string> parts = {node.op->name};
  for (const ValueId input : node.inputs) parts.push_back(std::to_string(input));
  for (const Weight& weight : node.weights) parts.push_back(weight->text());
  for (const AttributeDeclaration& declared : node.op->attributes) {
    const auto own = node.attributes.find(declared.name);
    parts.push_back(
        exact_text(own == node.attributes.end() ? declared.default_value : own->second));
  }
  return parts;
}

}  // namespace

void eliminate_common_subexpressions(const PassContext& context) {
  Graph& graph = context.graph;
  std::map<std::vector<std::string>, NodeId> first_of;
  std::map<NodeId, int> stands_for;  // how many others a kept node does the work of
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node& node = graph.node(id);
    if (node.op->side_effect) continue;
    // Inputs are those of the nodes that stay: whatever comes before has been rewritten already.
    const auto [entry, inserted] = first_of.try_emplace(expression_of(node), id);
    if (inserted) continue;
    Node& kept = graph.mutable_node(entry->second);
    ++stands_for[entry->second];
    append_origins(kept, node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      graph.replace_uses(node.outputs[i], kept.outputs[i]);
    }
    graph.remove(id);
  }
  for (const auto& [id, others] : stands_for) {
    context.changed(fmt::format("{} for {} more", graph.node(id).name, others));
  }
}

}  // namespace adze::graph
