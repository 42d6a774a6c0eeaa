// What passes and planner did to a graph, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "graph/passes/pass.h"
#include "graph/plan.h"
#include "graph/verify.h"

namespace adze::graph {

struct Explanation {
  const OperatorCounts& declared;  // before the first pass
  std::span<const PassReport> passes;
  std::span<const PassCheck> checks;  // of enabled passes; empty: they were not verified
  const Plan& plan;
  const WeightSource& source;
};

// Layers that are alike are written once, as a range; `every_layer` writes each on its own.
std::string explain_text(const Explanation& explanation, bool every_layer = false);
// The fields are those of docs/explain.md, which are kept stable.
nlohmann::ordered_json explain_json(const Explanation& explanation);

}  // namespace adze::graph
