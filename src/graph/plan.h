// A graph made ready to run: nodes assigned to providers, memory planned, weights packed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/thread_pool.h"
#include "graph/batch.h"
#include "graph/graph.h"
#include "graph/memory_plan.h"
#include "graph/provider.h"

namespace adze::graph {

// Consecutive nodes of the order that one provider runs.
struct Partition {
  Provider* provider = nullptr;
  std::vector<NodeId> nodes;
};

// The first provider of the list that does not refuse a node gets it. Throws Error{kUnsupported}
// naming the node and every provider's reason where all refuse.
std::vector<Partition> assign_providers(const Graph& graph, std::span<Provider* const> providers,
                                        const WeightSource& source);

// Made once, run often; nothing is allocated in a run. Not thread-safe: one run at a time. The pool
// outlives it.
class Plan {
 public:
  Plan(Graph graph, std::span<Provider* const> providers, const WeightSource& source,
       const PlanOptions& options, ThreadPool& pool, const LoadProgress& progress = {});

  // Runs a batch. Throws Error{kInvalidInput} where it does not fit the plan (rows, sampled rows,
  // token ids, blocks); nothing has been written then. Afterwards output() holds the sampled rows.
  void run(const Batch& batch);
  // Seconds that each node took are added up from here on, by NodeId; run() is a little slower
  // then.
  void measure_nodes();
  // Empty unless they are measured.
  std::span<const double> node_seconds() const { return node_seconds_; }
  // The first graph output of the last run: [sampled rows, row elements], float32, valid until the
  // next run.
  std::span<const float> output() const;

  const Graph& graph() const { return graph_; }
  const MemoryPlan& memory() const { return memory_; }
  const std::vector<Partition>& partitions() const { return partitions_; }
  const PlanOptions& options() const { return options_; }
  // Of the partition that runs `node`.
  std::string kernels(NodeId node) const;
  int barriers() const;
  size_t weight_bytes() const;
  // Of all partitions, by dtype and format.
  std::vector<PackedBytes> packed_weights() const;
  // Of all partitions, in their order.
  std::vector<PackedMatrix> packed_matrices() const;
  // Token ids that a batch may hold are below this.
  int64_t vocabulary() const { return vocabulary_; }

 private:
  void check(const Batch& batch) const;

  Graph graph_;
  PlanOptions options_;
  ThreadPool& pool_;
  std::vector<Partition> partitions_;
  std::vector<std::unique_ptr<CompiledPartition>> compiled_;
  MemoryPlan memory_;
  HugeBuffer arena_;
  std::vector<std::byte*> values_;  // by ValueId
  std::vector<double> node_seconds_;
  int64_t vocabulary_ = 0;  // rows of the embedding, to check token ids
  int32_t sampled_ = 0;     // of the last run
};

}  // namespace adze::graph
