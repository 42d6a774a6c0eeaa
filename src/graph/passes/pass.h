// Passes: named rewrites of a graph that say what they did and what they left alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace adze::graph {

// Inputs of linears whose weights are quantized. With kInt8 the output head's have 16 bits all the
// same: its rounding lands in the logits undamped.
enum class Activations : uint8_t { kF32, kInt8, kInt16 };
std::string_view activations_name(Activations activations);
std::optional<Activations> activations_from_name(std::string_view name);

struct PassOptions {
  std::set<std::string, std::less<>> disabled;  // names of passes to skip
  Activations activations = Activations::kInt16;
  // Elements that share a scale when activations are quantized; 0, and where it does not divide a
  // row: the whole row. Nothing: what was measured to suffice, a row for int16 and 32 for int8
  // (docs/decisions/0002).
  std::optional<int32_t> activation_group;
};

// What a pass promises about the model's outputs. Part of its declaration, so that none goes
// without; verify.h checks it.
enum class Exactness : uint8_t {
  kBitIdentical,  // not a bit changes
  kApproximate,   // rounds differently on purpose: within PassReport::mean_kl_limit
};
std::string_view exactness_name(Exactness exactness);

struct PassReport {
  struct Rejection {
    std::string where;   // node name
    std::string reason;  // one line
  };
  std::string name;
  std::string summary;
  Exactness exactness = Exactness::kBitIdentical;
  // Set by an approximate pass as its options ask for: the most it may change, as the mean KL
  // divergence of the next token's distribution in nats over the batch of verify.h. It is there to
  // catch a pass that is broken; what rounding costs on real text is measured elsewhere.
  double mean_kl_limit = 0;
  bool enabled = true;
  double seconds = 0;
  OperatorCounts before;
  OperatorCounts after;
  std::vector<std::string> changes;  // one line each
  std::vector<Rejection> rejections;
};

struct PassContext {
  Graph& graph;
  const WeightSource& source;
  const PassOptions& options;
  PassReport& report;

  void changed(std::string line) const { report.changes.push_back(std::move(line)); }
  void rejected(std::string where, std::string reason) const {
    report.rejections.push_back({std::move(where), std::move(reason)});
  }
};

struct Pass {
  std::string_view name;
  std::string_view summary;
  Exactness exactness;
  void (*run)(const PassContext&);
};

// All passes in the order they run.
std::span<const Pass> passes();

// Called with the graph after each enabled pass; for comparing outputs before and after.
using AfterPass = std::function<void(const Graph&, const PassReport&)>;

// Runs the passes of `list`; the graph is verified before the first and after each. Throws
// Error{kInvalidInput} for an unknown name among the disabled ones, listing the known names; what a
// pass or the graph's verifier after it throws names the pass, and is Error{kInternal} where shapes
// do not fit.
std::vector<PassReport> run_passes(Graph& graph, const WeightSource& source,
                                   const PassOptions& options, const AfterPass& after = {},
                                   std::span<const Pass> list = passes());

// The passes, in the files of src/graph/passes.
void fold_constants(const PassContext&);
void eliminate_identities(const PassContext&);
void eliminate_common_subexpressions(const PassContext&);
void eliminate_dead(const PassContext&);
void fuse_qkv(const PassContext&);
void fuse_gate_up(const PassContext&);
void fuse_residual(const PassContext&);
void fuse_bias(const PassContext&);
void fuse_activation(const PassContext&);
void fuse_residual_norm(const PassContext&);
void fuse_rope_kv_write(const PassContext&);
void quantize_activations(const PassContext&);
void fuse_norm_quantize(const PassContext&);

}  // namespace adze::graph
