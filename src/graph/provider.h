// Execution providers: they run whole partitions of a graph, all in the host's memory so far.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "graph/batch.h"
#include "graph/graph.h"

namespace adze::graph {

// What a plan is made for.
struct PlanOptions {
  int32_t max_rows = 512;      // rows of one run at most
  int32_t max_sampled = 16;    // sampled rows of one run at most
  int32_t max_context = 8192;  // tokens of one sequence at most
};

// Progress of packing: bytes done of all.
using LoadProgress = std::function<void(size_t done, size_t total)>;

// What a member of the team sees during a run.
struct RunContext {
  const Batch* batch = nullptr;
  // values[id]: the buffer of a value that has bytes; the others are null.
  std::span<std::byte* const> values;
  Barrier* barrier = nullptr;
  // By NodeId: member 0 adds the seconds that a node took, barrier included. Empty: nobody asks.
  std::span<double> node_seconds;
  int member = 0;
  int members = 1;
};

// Weights of one checkpoint dtype as a partition holds them.
struct PackedBytes {
  DType dtype = DType::kF32;
  std::string format;  // what they became: "4-bit affine g32 f16"
  int32_t count = 0;   // distinct weights
  size_t bytes = 0;
};

// One weight as a partition holds it.
struct PackedMatrix {
  std::string_view layout;  // the provider's name for how it lies there
  std::string expression;   // the weight's text()
  std::span<const std::byte> bytes;
};

// A partition made ready: weights packed, kernels chosen. Every member of the team calls run() with
// the same batch; the members meet at context.barrier. Results are complete when the last member
// returns.
class CompiledPartition {
 public:
  virtual ~CompiledPartition() = default;
  virtual void run(const RunContext& context) = 0;
  // Barriers one run takes, for reports.
  virtual int barriers() const = 0;
  // The kernels that serve a node, for explanations ("linear_q4_affine_avx2: 1 row, 2–16 rows,
  // more").
  virtual std::string kernels(NodeId node) const = 0;
  virtual size_t weight_bytes() const = 0;
  // weight_bytes() by dtype and format, for explanations; empty where a partition has no weights.
  virtual std::vector<PackedBytes> packed_weights() const { return {}; }
  // Every packed matrix; the bytes live as long as the partition.
  virtual std::vector<PackedMatrix> packed_matrices() const { return {}; }
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view name() const = 0;
  // Why it cannot run the node; nothing where it can.
  virtual std::optional<std::string> refuses(const Graph& graph, const Node& node,
                                             const WeightSource& source) const = 0;
  // Bytes that `rows` rows of the value take in this provider's layout.
  virtual size_t value_bytes(const Value& value, int64_t rows) const = 0;
  // Sets layer_block_bytes of the graph's state groups to this provider's cache layout.
  virtual void lay_out_state(Graph& graph) const = 0;
  // Packs the weights of `nodes` and binds kernels. The graph outlives the result, and so does the
  // source, whose packed() bytes are used where they are; the rest is read during this call only.
  virtual std::unique_ptr<CompiledPartition> compile(const Graph& graph,
                                                     std::span<const NodeId> nodes,
                                                     const WeightSource& source,
                                                     const PlanOptions& options, ThreadPool& pool,
                                                     const LoadProgress& progress) = 0;
};

}  // namespace adze::graph
