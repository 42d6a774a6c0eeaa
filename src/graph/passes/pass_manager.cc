#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.h"
#include "graph/passes/pass.h"

namespace adze::graph {

std::span<const Pass> passes() {
  static constexpr std::array<Pass, 9> kPasses = {{
      {"fold_constants", "computes operators whose inputs are all constants", fold_constants},
      {"eliminate_identities", "drops operators that return their input", eliminate_identities},
      {"eliminate_dead", "drops operators whose results nobody reads", eliminate_dead},
      {"fuse_qkv", "query, key and value projections become one linear", fuse_qkv},
      {"fuse_gate_up", "gate, activation, up and product become one linear", fuse_gate_up},
      {"fuse_residual", "a linear adds the residual as it writes", fuse_residual},
      {"fuse_rope_kv_write", "keys are rotated on their way into the cache", fuse_rope_kv_write},
      {"quantize_activations", "inputs of quantized linears become integers", quantize_activations},
      {"fuse_norm_quantize", "a norm writes integer rows itself", fuse_norm_quantize},
  }};
  return kPasses;
}

std::vector<PassReport> run_passes(Graph& graph, const WeightSource& source,
                                   const PassOptions& options, const AfterPass& after) {
  for (const std::string& name : options.disabled) {
    const auto known = [&](const Pass& pass) { return pass.name == name; };
    if (std::none_of(passes().begin(), passes().end(), known)) {
      std::string names;
      for (const Pass& pass : passes()) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
      }
      throw_invalid("no pass is named '{}'; there are: {}", printable(name), names);
    }
  }
  graph.verify(source);
  std::vector<PassReport> reports;
  for (const Pass& pass : passes()) {
    PassReport report;
    report.name = pass.name;
    report.summary = pass.summary;
    report.enabled = !options.disabled.contains(pass.name);
    report.nodes_before = graph.order().size();
    if (report.enabled) {
      const auto start = std::chrono::steady_clock::now();
      pass.run({graph, source, options, report});
      report.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      graph.verify(source);
    }
    report.nodes_after = graph.order().size();
    if (report.enabled && after) after(graph, report);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace adze::graph
