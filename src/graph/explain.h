// What passes and planner did to a graph, for people and for programs.
#pragma once

#include <filesystem>
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
// The fields are those of docs/explain.md, which are kept stable. Strings may hold bytes that are
// not UTF-8 where a name does: dump with error_handler_t::replace.
nlohmann::ordered_json explain_json(const Explanation& explanation);

// What explain_json() once wrote to a file. Throws Error{kInvalidInput} naming the file and the
// offset or field where it is anything else.
nlohmann::ordered_json load_explanation(const std::filesystem::path& path);
// What became of one explanation in another: passes, operators, nodes by name, memory, weights,
// barriers; only what differs. Both are as explain_json() and load_explanation() give them.
nlohmann::ordered_json explain_difference(const nlohmann::ordered_json& before,
                                          const nlohmann::ordered_json& after);
// That difference for people; layers that are alike are one line, unless `every_layer`.
std::string difference_text(const nlohmann::ordered_json& difference, bool every_layer = false);

// Drawings of the plan's graph, layers that are alike drawn once: for Graphviz, and ready to look
// at. Names are escaped and cut; the SVG is well-formed whatever they hold.
std::string explain_dot(const Explanation& explanation);
std::string explain_svg(const Explanation& explanation);

}  // namespace adze::graph
