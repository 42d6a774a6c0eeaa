// Operators: one declaration each, from which checking, shapes, printing and in-place planning
// derive.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace adze::graph {

struct AttributeDeclaration {
  std::string name;
  Attribute default_value;
};

// A value without an identity: what a shape rule computes with.
struct ValueType {
  ElementType type = ElementType::kF32;
  Shape shape;
  int32_t quantization_group = 0;
  int32_t quantization_bits = 0;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

struct ShapeContext {
  const Node& node;  // attributes; inputs by the span below
  std::span<const ValueType> inputs;
  std::span<const WeightInfo> weights;
};

struct Operator {
  std::string name;
  std::string summary;  // one line for explanations
  int min_inputs = 0;
  int max_inputs = 0;
  int min_weights = 0;
  int max_weights = 0;
  std::vector<AttributeDeclaration> attributes;
  // Types of the outputs; throws Error{kInvalidInput} with a reason (the caller adds the node's
  // name).
  std::vector<ValueType> (*infer)(const ShapeContext&) = nullptr;
  // The result for scalars; null for an operator that has none.
  double (*evaluate)(const Node& node, std::span<const double> inputs) = nullptr;
  bool side_effect = false;  // writes a sequence's state: never dead, never moved
  // Index of an input whose buffer the first output may take over where the input dies here; kNoId:
  // none.
  int32_t in_place_input = kNoId;

  const Attribute* default_attribute(std::string_view attribute) const;
};

// The types of the node's outputs by its operator's rule. Throws Error{kInvalidInput} naming the
// node where numbers of inputs or weights, or shapes, do not fit.
std::vector<ValueType> infer_outputs(const Graph& graph, const Node& node,
                                     const WeightSource& source);

// The declared operators, sorted by name, and one of them by name (unknown: a programmer's
// mistake).
std::span<const Operator> operators();
const Operator& find_operator(std::string_view name);
// A linear's weights by what they are: matrices, and the vectors added to their products, one for
// each or none.
std::span<const Weight> linear_matrices(const Node& linear);
std::span<const Weight> linear_biases(const Node& linear);
// Names of the operators that a gate may apply: one input, one output, element by element.
bool is_activation(std::string_view name);

}  // namespace adze::graph
