// Graph::verify: what holds for every graph, whichever pass made it.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/operator.h"

namespace adze::graph {
namespace {

// One node at a time, in order; values defined by those before it are known.
class Verifier {
 public:
  Verifier(const Graph& graph, const WeightSource& source)
      : graph_(graph), source_(source), defined_(graph.value_count(), false) {
    for (const ValueId input : graph.inputs()) define(input);
  }

  void verify(NodeId id) {
    node_ = &graph_.node(id);
    if (node_->removed) fail("is removed but still in the order");
    for (const ValueId input : node_->inputs) {
      if (!known(input)) fail(fmt::format("reads the unknown value {}", input));
      if (!defined(input)) {
        fail("reads " + graph_.value(input).name + " before it is produced");
      }
    }
    verify_attributes();
    verify_outputs(id);
    if (node_->op->default_attribute("group") != nullptr) verify_state();
  }

  bool known(ValueId value) const {
    return value >= 0 && static_cast<size_t>(value) < defined_.size();
  }
  bool defined(ValueId value) const { return defined_[static_cast<size_t>(value)]; }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw_internal("graph: node {} ({}): {}", node_->name, node_->op->name, reason);
  }
  void define(ValueId value) { defined_[static_cast<size_t>(value)] = true; }

  void verify_attributes() const {
    for (const auto& [name, attribute] : node_->attributes) {
      const Attribute* declared = node_->op->default_attribute(name);
      if (declared == nullptr || declared->index() != attribute.index()) {
        fail("attribute " + name + " is not declared so");
      }
    }
  }

  std::vector<ValueType> types_by_rule() const {
    try {
      return infer_outputs(graph_, *node_, source_);
    } catch (const Error& error) {
      throw_internal("graph: {}", error.what());
    }
  }

  void verify_outputs(NodeId id) {
    const std::vector<ValueType> types = types_by_rule();
    if (types.size() != node_->outputs.size()) fail("has another number of outputs than its rule");
    for (size_t i = 0; i < types.size(); ++i) {
      if (!known(node_->outputs[i])) {
        fail(fmt::format("produces the unknown value {}", node_->outputs[i]));
      }
      const Value& output = graph_.value(node_->outputs[i]);
      if (output.producer != id) fail("is not the producer of its output " + output.name);
      if (defined(node_->outputs[i])) fail("produces " + output.name + " again");
      if (ValueType{output.type, output.shape, output.quantization_group,
                    output.quantization_bits} != types[i]) {
        fail("output " + output.name + " differs from its rule");
      }
      define(node_->outputs[i]);
    }
  }

  // Of an operator that writes or reads the state of a layer.
  void verify_state() const {
    const int64_t index = node_->integer("group");
    const auto& groups = graph_.state_groups();
    if (index < 0 || index >= static_cast<int64_t>(groups.size())) {
      fail(fmt::format("state group {} of {}", index, groups.size()));
    }
    const StateGroup& group = groups[static_cast<size_t>(index)];
    const int64_t layer = node_->integer("layer");
    if (std::find(group.layers.begin(), group.layers.end(), layer) == group.layers.end()) {
      fail(fmt::format("layer {} is not in state group {}", layer, group.name));
    }
    if (node_->op->name != "kv_write") verify_queries(group, graph_.value(node_->inputs[0]).shape);
    if (node_->op->name != "attention") {
      const size_t keys = node_->op->name == "kv_write" ? 0 : 1;
      verify_keys(group, graph_.value(node_->inputs[keys]).shape);
    } else {
      verify_writer(graph_.value(node_->inputs[1]).producer);
    }
  }

  void verify_queries(const StateGroup& group, const Shape& shape) const {
    if (shape[2].size != group.head_dim || group.kv_heads < 1 ||
        shape[1].size % group.kv_heads != 0) {
      fail(fmt::format("queries {} for {} key heads of {} in state group {}", to_string(shape),
                       group.kv_heads, group.head_dim, group.name));
    }
  }
  void verify_keys(const StateGroup& group, const Shape& shape) const {
    if (shape[1].size != group.kv_heads || shape[2].size != group.head_dim) {
      fail(fmt::format("keys {} for {} key heads of {} in state group {}", to_string(shape),
                       group.kv_heads, group.head_dim, group.name));
    }
  }
  void verify_writer(NodeId id) const {
    if (id == kNoId) return;  // a state that came with the graph
    const Node& writer = graph_.node(id);
    if (writer.integer("group") != node_->integer("group") ||
        writer.integer("layer") != node_->integer("layer")) {
      fail("reads what " + writer.name + " writes for another layer");
    }
  }

  const Graph& graph_;
  const WeightSource& source_;
  std::vector<bool> defined_;
  const Node* node_ = nullptr;
};

}  // namespace

void Graph::verify(const WeightSource& source) const {
  Verifier verifier(*this, source);
  for (const NodeId id : order_) {
    if (id < 0 || static_cast<size_t>(id) >= nodes_.size()) {
      throw_internal("graph: the order has the unknown node {}", id);
    }
    verifier.verify(id);
  }
  for (const ValueId output : outputs_) {
    if (!verifier.known(output)) throw_internal("graph: the unknown value {} is an output", output);
    if (!verifier.defined(output)) {
      throw_internal("graph: output {} is never produced", value(output).name);
    }
  }
}

}  // namespace adze::graph
