// The intermediate representation: a directed acyclic graph of semantic operators over labelled
// values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/state.h"
#include "graph/types.h"
#include "graph/weight.h"

namespace adze::graph {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNoId = -1;

// A text as one of several types: std::variant of g++ 12 takes std::string itself for a type whose
// copying cannot fail, and is undefined where memory is short.
struct AttributeText {
  AttributeText(std::string given) : text(std::move(given)) {}
  AttributeText(const char* given) : text(given) {}
  bool operator==(const AttributeText&) const = default;

  std::string text;
};
// A node's parameters, by the names its operator declares.
using Attribute = std::variant<int64_t, double, AttributeText>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

// Nodes by operator name.
using OperatorCounts = std::map<std::string, int>;

struct Operator;  // operator.h: one declaration per operator

struct Value {
  std::string name;
  ElementType type = ElementType::kF32;
  Shape shape;
  NodeId producer = kNoId;         // kNoId: an input of the graph
  int32_t quantization_group = 0;  // kQuantized: elements that share a scale; divides the row
  int32_t quantization_bits = 0;   // kQuantized: of a code, 8 or 16
};

struct Node {
  const Operator* op = nullptr;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Weight> weights;
  Attributes attributes;
  // Names of the nodes of the model's declaration that this one does the work of (itself at first).
  std::vector<std::string> origins;
  bool removed = false;

  // The attribute, or the operator's default. Asking for an undeclared name or another type is a
  // programmer's mistake.
  int64_t integer(std::string_view attribute) const;
  double real(std::string_view attribute) const;
  const std::string& text(std::string_view attribute) const;
};

// Owns nodes and values; ids stay valid when others are removed. Nodes are kept in an order in
// which every value is produced before it is used. Not thread-safe.
class Graph {
 public:
  // --- Construction ---
  ValueId add_input(std::string name, ElementType type, Shape shape);
  // Appends a node (before node `before`, if given) and makes its outputs by the operator's shape
  // rule. Throws Error{kInvalidInput} where shapes do not fit, naming the node. `source` gives the
  // shapes of weights.
  NodeId add_node(std::string_view op, std::string name, std::vector<ValueId> inputs,
                  std::vector<Weight> weights, Attributes attributes, const WeightSource& source,
                  NodeId before = kNoId);
  void add_output(ValueId value) { outputs_.push_back(value); }
  int32_t add_state_group(StateGroup group);

  // --- Reading ---
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const std::vector<NodeId>& order() const { return order_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<StateGroup>& state_groups() const { return state_groups_; }
  size_t value_count() const { return values_.size(); }
  // Nodes that read `value`, in order, each once.
  std::vector<NodeId> readers(ValueId value) const;
  bool is_output(ValueId value) const;
  // The scalar that `value` is, where it follows from constants alone.
  std::optional<double> constant(ValueId value) const;

  // --- Rewriting (for passes) ---
  Node& mutable_node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  Value& mutable_value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  StateGroup& mutable_state_group(int32_t index) {
    return state_groups_[static_cast<size_t>(index)];
  }
  // Every reader of `from` (and the graph's outputs) reads `to` instead.
  void replace_uses(ValueId from, ValueId to);
  // Takes a node out of the order. Its outputs must have no reader left, or be adopted by another
  // node. Throws Error{kInternal} for a node that is not in the order.
  void remove(NodeId id);
  // Value `output` becomes the `index`-th output of `node`; its former producer's own is dropped.
  // Lets a fused node take over the values of those it replaces, so that their names survive.
  void adopt_output(NodeId node, size_t index, ValueId output);

  // Throws Error{kInternal} naming the node: an unknown id, an undefined or doubly produced value,
  // a use before its production, a cycle, a removed node that is read, inputs or attributes that
  // the operator does not declare, shapes that the shape rule does not give; of an operator on a
  // sequence's state: a state group that is not there, a layer outside it, heads that it does not
  // hold, an attention to what another layer wrote.
  void verify(const WeightSource& source) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<StateGroup> state_groups_;
};

OperatorCounts count_operators(const Graph& graph);

}  // namespace adze::graph
