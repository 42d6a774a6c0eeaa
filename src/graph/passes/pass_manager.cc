#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.h"
#include "graph/passes/pass.h"

namespace adze::graph {
namespace {

void check_disabled(const PassOptions& options, std::span<const Pass> list) {
  for (const std::string& name : options.disabled) {
    const auto known = [&](const Pass& pass) { return pass.name == name; };
    if (std::any_of(list.begin(), list.end(), known)) continue;
    std::string names;
    for (const Pass& pass : list) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
    }
    throw_invalid("no pass is named '{}'; there are: {}", printable(name), names);
  }
}

// A pass that trips over a rule of the graph is named.
void run_pass(const Pass& pass, const PassContext& context) {
  try {
    const auto start = std::chrono::steady_clock::now();
    pass.run(context);
    context.report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    context.graph.verify(context.source);
  } catch (const Error& error) {
    // The graph was well-formed before: shapes that do not fit now are the pass's own fault.
    const ErrorKind kind =
        error.kind() == ErrorKind::kInvalidInput ? ErrorKind::kInternal : error.kind();
    throw Error(kind, fmt::format("pass {}: {}", pass.name, error.what()));
  }
}

}  // namespace

std::string_view exactness_name(Exactness exactness) {
  return exactness == Exactness::kBitIdentical ? "bit-identical" : "approximate";
}

std::span<const Pass> passes() {
  using enum Exactness;
  static constexpr std::array<Pass, 13> kPasses = {{
      {"fold_constants", "computes operators whose inputs are all constants", kBitIdentical,
       fold_constants},
      {"eliminate_identities", "drops operators that return their input", kBitIdentical,
       eliminate_identities},
      {"eliminate_common_subexpressions", "operators that compute the same become one",
       kBitIdentical, eliminate_common_subexpressions},
      {"eliminate_dead", "drops operators whose results nobody reads", kBitIdentical,
       eliminate_dead},
      {"fuse_bias", "a linear adds its bias as it writes", kBitIdentical, fuse_bias},
      {"fuse_qkv", "query, key and value projections become one linear", kBitIdentical, fuse_qkv},
      {"fuse_gate_up", "gate, activation, up and product become one linear", kBitIdentical,
       fuse_gate_up},
      {"fuse_activation", "a linear applies the activation as it writes", kBitIdentical,
       fuse_activation},
      {"fuse_residual", "a linear adds the residual as it writes", kBitIdentical, fuse_residual},
      {"fuse_residual_norm", "a residual is added where the sum is normed, and normed before it",
       kBitIdentical, fuse_residual_norm},
      {"fuse_rope_kv_write", "keys are rotated on their way into the cache", kBitIdentical,
       fuse_rope_kv_write},
      {"quantize_activations", "inputs of quantized linears become integers", kApproximate,
       quantize_activations},
      {"fuse_norm_quantize", "a norm writes integer rows itself", kBitIdentical,
       fuse_norm_quantize},
  }};
  return kPasses;
}

std::vector<PassReport> run_passes(Graph& graph, const WeightSource& source,
                                   const PassOptions& options, const AfterPass& after,
                                   std::span<const Pass> list) {
  check_disabled(options, list);
  graph.verify(source);
  std::vector<PassReport> reports;
  for (const Pass& pass : list) {
    PassReport report;
    report.name = pass.name;
    report.summary = pass.summary;
    report.exactness = pass.exactness;
    report.enabled = !options.disabled.contains(pass.name);
    report.before = count_operators(graph);
    if (report.enabled) run_pass(pass, {graph, source, options, report});
    report.after = count_operators(graph);
    if (report.enabled && after) after(graph, report);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace adze::graph
