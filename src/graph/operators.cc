// The declarations of all operators.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "graph/operator.h"

namespace adze::graph {
namespace {

void require(bool condition, const char* reason) {
  if (!condition) throw_invalid("{}", reason);
}

ValueType scalar() { return {ElementType::kF32, {}, 0}; }

// [rows, hidden] out of token ids and a [vocab, hidden] weight.
std::vector<ValueType> infer_embedding(const ShapeContext& c) {
  require(c.inputs[0].type == ElementType::kI32, "token ids must be i32");
  return {
      {ElementType::kF32, {c.inputs[0].shape.front(), {Axis::kHidden, c.weights[0].columns}}, 0}};
}

std::vector<ValueType> infer_same(const ShapeContext& c) {
  require(c.inputs[0].type == ElementType::kF32, "input must be f32");
  return {c.inputs[0]};
}

// Elementwise over two inputs; a scalar constant broadcasts.
std::vector<ValueType> infer_binary(const ShapeContext& c) {
  require(c.inputs[0].type == ElementType::kF32 && c.inputs[1].type == ElementType::kF32,
          "inputs must be f32");
  if (c.inputs[0].shape.empty()) return {c.inputs[1]};
  require(c.inputs[1].shape.empty() || c.inputs[1].shape == c.inputs[0].shape,
          "input shapes differ");
  return {c.inputs[0]};
}

// Norm and quantization can produce integer rows: `quantization_group` > 0.
ValueType with_quantization(const Node& node, ValueType type) {
  const int64_t group = node.integer("quantization_group");
  if (group == 0) return type;
  require(group > 0 && row_elements(type.shape) % group == 0,
          "quantization group does not divide the row");
  type.type = ElementType::kQuantized;
  type.quantization_group = static_cast<int32_t>(group);
  const int64_t bits = node.integer("bits");
  require(bits == 8 || bits == 16, "codes have 8 or 16 bits");
  type.quantization_bits = static_cast<int32_t>(bits);
  return type;
}

// Over the whole row, or over each head of it.
std::vector<ValueType> infer_norm(const ShapeContext& c) {
  const Shape& shape = c.inputs[0].shape;
  const bool whole = c.weights[0].columns == row_elements(shape);
  require(c.weights[0].rows == 1 && (whole || c.weights[0].columns == shape.back().size),
          "norm weight fits neither the row nor its heads");
  require(whole || c.node.integer("quantization_group") == 0, "norms of heads stay float");
  return {with_quantization(c.node, infer_same(c).front())};
}

// The sum and its norm. Of two weights the first is of a norm of x, before it is added.
std::vector<ValueType> infer_residual_norm(const ShapeContext& c) {
  const ValueType sum = infer_same(c).front();
  require(c.inputs[1] == c.inputs[0], "the residual and x differ in shape");
  for (const WeightInfo& weight : c.weights) {
    require(weight.rows == 1 && weight.columns == row_elements(sum.shape),
            "norm weight does not fit the row");
  }
  return {sum, with_quantization(c.node, sum)};
}

std::vector<ValueType> infer_bias(const ShapeContext& c) {
  require(c.weights[0].rows == 1 && c.weights[0].columns == row_elements(c.inputs[0].shape),
          "the bias does not fit the row");
  return infer_same(c);
}

std::vector<ValueType> infer_quantize(const ShapeContext& c) {
  return {with_quantization(c.node, infer_same(c).front())};
}

Axis axis_attribute(const Node& node) {
  const std::string& name = node.text("axis");
  for (const Axis axis : {Axis::kHidden, Axis::kHeads, Axis::kKvHeads, Axis::kFfn, Axis::kVocab}) {
    if (axis_name(axis) == name) return axis;
  }
  throw_invalid("unknown axis '{}'", name);
}

// One output per matrix; `axis` labels them in order ("heads,kv_heads,kv_heads" after fusion). With
// attribute `bias` the matrices are followed by as many vectors. Attribute `gate` names an
// activation: two matrices, gate and up, give one output act(gate) · up; `activation` one for the
// output of a single matrix.
std::vector<ValueType> infer_linear(const ShapeContext& c) {
  const bool gated = !c.node.text("gate").empty();
  require(!gated || is_activation(c.node.text("gate")), "the gate is no activation");
  const std::string& activation = c.node.text("activation");
  require(activation.empty() || is_activation(activation), "no operator applies that activation");
  const bool biased = c.node.integer("bias") != 0;
  require(!biased || c.weights.size() % 2 == 0, "not every matrix has a bias");
  const auto matrices = c.weights.first(c.weights.size() / (biased ? 2 : 1));
  require(c.inputs[0].type == ElementType::kF32 || c.inputs[0].type == ElementType::kQuantized,
          "input must be f32 or quantized");
  require(!gated || matrices.size() == 2, "a gated linear takes two matrices");
  require(c.inputs.size() == 1 || matrices.size() == 1, "a residual needs a single matrix");
  require(activation.empty() || (matrices.size() == 1 && c.inputs.size() == 1),
          "an activation needs a single matrix and no residual");
  std::string labels = c.node.text("axis");
  std::vector<ValueType> outputs;
  for (size_t i = matrices.size(); i < c.weights.size(); ++i) {
    const WeightInfo& bias = c.weights[i];
    require(bias.rows == 1 && bias.columns == matrices[i - matrices.size()].rows,
            "a bias does not fit its matrix");
  }
  for (const WeightInfo& weight : matrices) {
    require(weight.columns == row_elements(c.inputs[0].shape),
            "weight columns differ from the input row");
    Node labelled;
    labelled.op = c.node.op;
    const size_t comma = labels.find(',');
    labelled.attributes["axis"] = labels.substr(0, comma);
    if (comma != std::string::npos) labels.erase(0, comma + 1);
    const Axis axis = axis_attribute(labelled);
    Shape shape = {c.inputs[0].shape.front()};
    if (axis == Axis::kHeads || axis == Axis::kKvHeads) {
      const int64_t head_dim = c.node.integer("head_dim");
      require(head_dim > 0 && weight.rows % head_dim == 0, "rows are not whole heads");
      shape.push_back({axis, weight.rows / head_dim});
      shape.push_back({Axis::kHeadDim, head_dim});
    } else {
      shape.push_back({axis, weight.rows});
    }
    outputs.push_back({ElementType::kF32, std::move(shape), 0});
  }
  if (gated) {
    require(outputs[0] == outputs[1], "gate and up differ in shape");
    outputs.pop_back();
  }
  if (c.inputs.size() == 2) {
    require(c.inputs[1] == outputs.front(), "the residual differs in shape from the output");
  }
  return outputs;
}

std::vector<ValueType> infer_rope(const ShapeContext& c) {
  require(c.inputs[0].shape.size() == 3, "input must be [rows, heads, head_dim]");
  return infer_same(c);
}

std::vector<ValueType> infer_kv_write(const ShapeContext& c) {
  require(c.inputs[0].shape == c.inputs[1].shape && c.inputs[0].shape.size() == 3,
          "keys and values must be [rows, kv_heads, head_dim] alike");
  return {{ElementType::kState, {}, 0}};
}

// Rotated queries and the state.
std::vector<ValueType> infer_rope_kv_write(const ShapeContext& c) {
  require(c.inputs[0].shape.size() == 3, "queries must be [rows, heads, head_dim]");
  require(c.inputs[1].shape == c.inputs[2].shape && c.inputs[1].shape.size() == 3,
          "keys and values must be [rows, kv_heads, head_dim] alike");
  return {c.inputs[0], {ElementType::kState, {}, 0}};
}

std::vector<ValueType> infer_attention(const ShapeContext& c) {
  require(c.inputs[0].shape.size() == 3, "queries must be [rows, heads, head_dim]");
  require(c.inputs[1].type == ElementType::kState, "second input must be the state");
  require(c.inputs[2].shape.empty(), "the scale must be a scalar");
  return {c.inputs[0]};
}

std::vector<ValueType> infer_gather_sampled(const ShapeContext& c) {
  ValueType out = infer_same(c).front();
  require(has_rows(out.shape), "input has no rows");
  out.shape.front() = {Axis::kSampled, kSymbolic};
  return {out};
}

using Scalars = std::span<const double>;

std::vector<ValueType> infer_constant(const ShapeContext&) { return {scalar()}; }

const std::vector<AttributeDeclaration> kLinearAttributes = {{"axis", std::string("hidden")},
                                                             {"head_dim", int64_t{0}},
                                                             {"gate", std::string()},
                                                             {"bias", int64_t{0}},
                                                             {"activation", std::string()}};
const std::vector<AttributeDeclaration> kQuantization = {{"quantization_group", int64_t{0}},
                                                         {"bits", int64_t{8}}};

// NOLINTNEXTLINE(readability-function-size): a table.
std::vector<Operator> declare() {
  const std::vector<AttributeDeclaration> rope = {
      {"theta", 10000.0},        {"rotary_dim", int64_t{0}},    {"factor", 1.0},
      {"original_context", 0.0}, {"low_frequency_factor", 1.0}, {"high_frequency_factor", 4.0}};
  const std::vector<AttributeDeclaration> place = {{"group", int64_t{0}}, {"layer", int64_t{0}}};
  std::vector<AttributeDeclaration> rope_write = rope;
  rope_write.insert(rope_write.end(), place.begin(), place.end());
  const std::vector<AttributeDeclaration> norm = {
      {"epsilon", 1e-5}, {"quantization_group", int64_t{0}}, {"bits", int64_t{8}}};
  std::vector<AttributeDeclaration> residual_norm = norm;
  residual_norm.push_back({"post_epsilon", 1e-5});
  std::vector<Operator> all = {
      {"add",
       "a + b",
       2,
       2,
       0,
       0,
       {},
       infer_binary,
       [](const Node&, Scalars x) { return x[0] + x[1]; },
       false,
       0},
      {"attention",
       "softmax(scale · Q·Kᵀ)·V over the cached keys and values that the state group keeps", 3, 3,
       0, 0, place, infer_attention, nullptr, false, kNoId},
      {"bias", "x + b, a vector as long as a row", 1, 1, 1, 1, {}, infer_bias, nullptr, false, 0},
      {"constant",
       "a scalar",
       0,
       0,
       0,
       0,
       {{"value", 0.0}},
       infer_constant,
       [](const Node& node, Scalars) { return node.real("value"); },
       false,
       kNoId},
      {"embedding",
       "rows of a table by token id",
       1,
       1,
       1,
       1,
       {},
       infer_embedding,
       nullptr,
       false,
       kNoId},
      {"gather_sampled",
       "the rows whose logits are wanted",
       1,
       1,
       0,
       0,
       {},
       infer_gather_sampled,
       nullptr,
       false,
       kNoId},
      {"gelu_tanh",
       "x · Φ(x), approximated with tanh",
       1,
       1,
       0,
       0,
       {},
       infer_same,
       [](const Node&, Scalars x) {
         const double u = std::sqrt(2 / std::numbers::pi) * (x[0] + 0.044715 * x[0] * x[0] * x[0]);
         return 0.5 * x[0] * (1 + std::tanh(u));
       },
       false,
       0},
      {"identity",
       "its input",
       1,
       1,
       0,
       0,
       {},
       infer_same,
       [](const Node&, Scalars x) { return x[0]; },
       false,
       0},
      {"kv_write", "keys and values into the cache", 2, 2, 0, 0, place, infer_kv_write, nullptr,
       true, kNoId},
      {"linear", "x·Wᵀ for one or several W, with bias, and gate, activation or residual", 1, 2, 1,
       16, kLinearAttributes, infer_linear, nullptr, false, 1},
      {"multiply",
       "a · b",
       2,
       2,
       0,
       0,
       {},
       infer_binary,
       [](const Node&, Scalars x) { return x[0] * x[1]; },
       false,
       0},
      {"quantize", "float32 rows to int8 codes with scales", 1, 1, 0, 0, kQuantization,
       infer_quantize, nullptr, false, kNoId},
      {"residual_norm",
       "residual + x and the norm of that; x is normed before where it has a weight", 2, 2, 1, 2,
       residual_norm, infer_residual_norm, nullptr, false, 0},
      {"rms_norm", "x / rms(x) · w, over a row or each head of it", 1, 1, 1, 1, norm, infer_norm,
       nullptr, false, kNoId},
      {"rope", "rotary position embedding, half-split pairs", 1, 1, 0, 0, rope, infer_rope, nullptr,
       false, 0},
      {"rope_kv_write", "rotates queries and keys, and writes keys and values to the cache", 3, 3,
       0, 0, rope_write, infer_rope_kv_write, nullptr, true, 0},
      {"rsqrt",
       "1 / √x",
       1,
       1,
       0,
       0,
       {},
       infer_same,
       [](const Node&, Scalars x) { return 1.0 / std::sqrt(x[0]); },
       false,
       0},
      {"silu",
       "x · sigmoid(x)",
       1,
       1,
       0,
       0,
       {},
       infer_same,
       [](const Node&, Scalars x) { return x[0] / (1.0 + std::exp(-x[0])); },
       false,
       0},
  };
  assert(std::is_sorted(all.begin(), all.end(),
                        [](const Operator& a, const Operator& b) { return a.name < b.name; }));
  return all;
}

}  // namespace

const Attribute* Operator::default_attribute(std::string_view attribute) const {
  for (const AttributeDeclaration& declaration : attributes) {
    if (declaration.name == attribute) return &declaration.default_value;
  }
  return nullptr;
}

std::span<const Operator> operators() {
  static const std::vector<Operator> all = declare();
  return all;
}

std::span<const Weight> linear_matrices(const Node& linear) {
  const std::span<const Weight> all = linear.weights;
  return all.first(linear.integer("bias") != 0 ? all.size() / 2 : all.size());
}

std::span<const Weight> linear_biases(const Node& linear) {
  return std::span<const Weight>(linear.weights).subspan(linear_matrices(linear).size());
}

bool is_activation(std::string_view name) { return name == "gelu_tanh" || name == "silu"; }

const Operator& find_operator(std::string_view name) {
  for (const Operator& op : operators()) {
    if (op.name == name) return op;
  }
  assert(false && "unknown operator");
  throw_internal("unknown operator '{}'", name);
}

}  // namespace adze::graph
