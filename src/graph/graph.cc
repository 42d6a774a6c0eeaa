#include "graph/graph.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "graph/operator.h"

namespace adze::graph {
namespace {

const Attribute& attribute_of(const Node& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  if (found != node.attributes.end()) return found->second;
  const Attribute* fallback = node.op->default_attribute(name);
  assert(fallback != nullptr && "undeclared attribute");
  return *fallback;
}

}  // namespace

std::vector<ValueType> infer_outputs(const Graph& graph, const Node& node,
                                     const WeightSource& source) {
  const auto count = [](size_t n, int low, int high) {
    return static_cast<int>(n) >= low && static_cast<int>(n) <= high;
  };
  if (!count(node.inputs.size(), node.op->min_inputs, node.op->max_inputs) ||
      !count(node.weights.size(), node.op->min_weights, node.op->max_weights)) {
    throw_invalid("node {} ({}): {} inputs and {} weights are not what it takes", node.name,
                  node.op->name, node.inputs.size(), node.weights.size());
  }
  std::vector<ValueType> inputs;
  for (const ValueId id : node.inputs) {
    const Value& value = graph.value(id);
    inputs.push_back({value.type, value.shape, value.quantization_group, value.quantization_bits});
  }
  std::vector<WeightInfo> weights;
  weights.reserve(node.weights.size());
  for (const Weight& weight : node.weights) weights.push_back(weight->info(source));
  try {
    return node.op->infer({node, inputs, weights});
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("node {} ({}): {}", node.name, node.op->name, error.what()));
  }
}

int64_t Node::integer(std::string_view attribute) const {
  return std::get<int64_t>(attribute_of(*this, attribute));
}
double Node::real(std::string_view attribute) const {
  return std::get<double>(attribute_of(*this, attribute));
}
const std::string& Node::text(std::string_view attribute) const {
  return std::get<AttributeText>(attribute_of(*this, attribute)).text;
}

ValueId Graph::add_input(std::string name, ElementType type, Shape shape) {
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back({std::move(name), type, std::move(shape), kNoId, 0, 0});
  inputs_.push_back(id);
  return id;
}

NodeId Graph::add_node(std::string_view op, std::string name, std::vector<ValueId> inputs,
                       std::vector<Weight> weights, Attributes attributes,
                       const WeightSource& source, NodeId before) {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node node;
  node.op = &find_operator(op);
  node.origins = {name};
  node.name = std::move(name);
  node.inputs = std::move(inputs);
  node.weights = std::move(weights);
  node.attributes = std::move(attributes);
  const std::vector<ValueType> types = infer_outputs(*this, node, source);
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string suffix = types.size() == 1 ? "" : "." + std::to_string(i);
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({node.name + suffix, types[i].type, types[i].shape, id,
                       types[i].quantization_group, types[i].quantization_bits});
  }
  nodes_.push_back(std::move(node));
  order_.insert(before == kNoId ? order_.end() : std::find(order_.begin(), order_.end(), before),
                id);
  return id;
}

int32_t Graph::add_state_group(StateGroup group) {
  state_groups_.push_back(std::move(group));
  return static_cast<int32_t>(state_groups_.size()) - 1;
}

std::vector<NodeId> Graph::readers(ValueId value) const {
  std::vector<NodeId> found;
  for (const NodeId id : order_) {
    const auto& inputs = node(id).inputs;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) found.push_back(id);
  }
  return found;
}

bool Graph::is_output(ValueId value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

std::optional<double> Graph::constant(ValueId id) const {
  const NodeId producer = value(id).producer;
  if (producer == kNoId || !value(id).shape.empty()) return std::nullopt;
  const Node& from = node(producer);
  if (from.op->evaluate == nullptr) return std::nullopt;
  std::vector<double> inputs;
  for (const ValueId input : from.inputs) {
    const std::optional<double> scalar = constant(input);
    if (!scalar) return std::nullopt;
    inputs.push_back(*scalar);
  }
  return from.op->evaluate(from, inputs);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (const NodeId id : order_) {
    auto& inputs = nodes_[static_cast<size_t>(id)].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::remove(NodeId id) {
  const auto place = std::find(order_.begin(), order_.end(), id);
  if (place == order_.end()) throw_internal("graph: node {} is not there to be removed", id);
  order_.erase(place);
  nodes_[static_cast<size_t>(id)].removed = true;
}

void Graph::adopt_output(NodeId id, size_t index, ValueId output) {
  nodes_[static_cast<size_t>(id)].outputs[index] = output;
  values_[static_cast<size_t>(output)].producer = id;
}

OperatorCounts count_operators(const Graph& graph) {
  OperatorCounts counts;
  for (const NodeId id : graph.order()) ++counts[graph.node(id).op->name];
  return counts;
}

}  // namespace adze::graph
