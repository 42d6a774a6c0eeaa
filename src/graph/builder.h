// Convenience over Graph for model declarations: names, one output, constants.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace adze::graph {

// Builds one graph over one checkpoint. The source outlives the builder.
class Builder {
 public:
  explicit Builder(const WeightSource& source) : source_(source) {}

  Graph& graph() { return graph_; }
  Graph take() { return std::move(graph_); }

  ValueId constant(std::string name, double value) {
    return apply("constant", std::move(name), {}, {}, {{"value", value}});
  }
  // Adds a node and returns its first output.
  ValueId apply(std::string_view op, std::string name, std::vector<ValueId> inputs,
                std::vector<Weight> weights = {}, Attributes attributes = {}) {
    const NodeId node = graph_.add_node(op, std::move(name), std::move(inputs), std::move(weights),
                                        std::move(attributes), source_);
    return graph_.node(node).outputs.front();
  }

 private:
  const WeightSource& source_;
  Graph graph_;
};

}  // namespace adze::graph
