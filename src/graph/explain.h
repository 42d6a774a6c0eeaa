// What passes and planner did to a graph, for people and for programs.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "graph/passes/pass.h"
#include "graph/plan.h"

namespace adze::graph {

// Nodes by operator name.
std::map<std::string, int> count_operators(const Graph& graph);

struct Explanation {
  std::map<std::string, int> before;  // operators of the declaration
  std::span<const PassReport> passes;
  const Plan& plan;
  const WeightSource& source;
};

// At most `examples` changes and rejections of a kind are written out per pass; the rest are
// counted.
std::string explain_text(const Explanation& explanation, int examples = 3);
nlohmann::ordered_json explain_json(const Explanation& explanation);

// One line: "layers.0.attention.query+2 = linear(x) …".
std::string node_text(const Graph& graph, const Node& node);

}  // namespace adze::graph
