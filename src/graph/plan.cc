#include "graph/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/operator.h"

namespace adze::graph {

std::vector<Partition> assign_providers(const Graph& graph, std::span<Provider* const> providers,
                                        const WeightSource& source) {
  std::vector<Partition> partitions;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    Provider* chosen = nullptr;
    std::string reasons;
    for (Provider* provider : providers) {
      const std::optional<std::string> reason = provider->refuses(graph, node, source);
      if (!reason) {
        chosen = provider;
        break;
      }
      reasons += fmt::format("; {}: {}", provider->name(), *reason);
    }
    if (chosen == nullptr) {
      throw_unsupported("node {} ({}) can run nowhere{}", node.name, node.op->name, reasons);
    }
    if (partitions.empty() || partitions.back().provider != chosen) {
      partitions.push_back({chosen, {}});
    }
    partitions.back().nodes.push_back(id);
  }
  return partitions;
}

Plan::Plan(Graph graph, std::span<Provider* const> providers, const WeightSource& source,
           const PlanOptions& options, ThreadPool& pool, const LoadProgress& progress)
    : graph_(std::move(graph)), options_(options), pool_(pool) {
  if (options.max_rows < 1 || options.max_sampled < 1 || options.max_context < 1) {
    throw_invalid("plan: {} rows, {} sampled rows and a context of {}: one of each at least",
                  options.max_rows, options.max_sampled, options.max_context);
  }
  partitions_ = assign_providers(graph_, providers, source);
  std::vector<Provider*> owner(graph_.value_count(), nullptr);
  for (const Partition& partition : partitions_) {
    for (const NodeId id : partition.nodes) {
      for (const ValueId output : graph_.node(id).outputs) {
        owner[static_cast<size_t>(output)] = partition.provider;
      }
    }
  }
  const auto bytes_of = [&](ValueId id) {
    const Provider* provider = owner[static_cast<size_t>(id)];
    if (provider == nullptr) return size_t{0};
    const Value& value = graph_.value(id);
    int64_t rows = 1;
    if (has_rows(value.shape)) {
      rows = value.shape.front().axis == Axis::kSampled ? options_.max_sampled : options_.max_rows;
    }
    return provider->value_bytes(value, rows);
  };
  memory_ = plan_memory(graph_, bytes_of);
  arena_ = HugeBuffer(memory_.peak_bytes);
  for (const MemoryPlan::Placement& placement : memory_.placements) {
    values_.push_back(placement.offset == kNoBuffer ? nullptr : arena_.data() + placement.offset);
  }
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (node.op->name == "embedding") vocabulary_ = node.weights[0]->info(source).rows;
  }
  for (const Partition& partition : partitions_) {
    compiled_.push_back(
        partition.provider->compile(graph_, partition.nodes, source, options_, pool_, progress));
  }
}

void Plan::check(const Batch& batch) const {
  if (batch.rows() < 1 || batch.rows() > options_.max_rows) {
    throw_invalid("batch: {} rows, the plan takes 1 to {}", batch.rows(), options_.max_rows);
  }
  if (batch.sampled_rows.size() > static_cast<size_t>(options_.max_sampled)) {
    throw_invalid("batch: {} sampled rows, the plan takes at most {}", batch.sampled_rows.size(),
                  options_.max_sampled);
  }
  for (const int32_t token : batch.tokens) {
    if (token < 0 || token >= vocabulary_) {
      throw_invalid("batch: token id {} is not from 0 to {}", token, vocabulary_ - 1);
    }
  }
  int32_t previous = -1;
  for (const int32_t row : batch.sampled_rows) {
    if (row <= previous || row >= batch.rows()) throw_invalid("batch: sampled row {}", row);
    previous = row;
  }
  int32_t next_row = 0;
  for (const BatchSequence& sequence : batch.sequences) {
    if (sequence.first_row != next_row || sequence.rows < 1 ||
        sequence.rows > batch.rows() - next_row) {
      throw_invalid("batch: a sequence of {} rows from row {} on, expected is row {} of {}",
                    sequence.rows, sequence.first_row, next_row, batch.rows());
    }
    if (sequence.first_position < 0) {
      throw_invalid("batch: a sequence at position {}", sequence.first_position);
    }
    next_row += sequence.rows;
    if (sequence.mask != MaskKind::kCausal)
      throw_unsupported("batch: masks other than causal are not supported");
    if (sequence.adapter != -1) throw_unsupported("batch: no adapter is loaded");
    if (sequence.pooling != Pooling::kNone) throw_unsupported("batch: pooling is not supported");
    const int64_t tokens = int64_t{sequence.first_position} + sequence.rows;
    if (tokens > options_.max_context) {
      throw_invalid("batch: a sequence of {} tokens, the plan takes at most {}", tokens,
                    options_.max_context);
    }
    const auto blocks = static_cast<size_t>((tokens + kBlockTokens - 1) / kBlockTokens);
    if (sequence.blocks.size() != graph_.state_groups().size()) {
      throw_invalid("batch: {} block tables for {} state groups", sequence.blocks.size(),
                    graph_.state_groups().size());
    }
    for (size_t group = 0; group < sequence.blocks.size(); ++group) {
      const auto& table = sequence.blocks[group];
      if (table.size() < blocks) {
        throw_invalid("batch: {} cache blocks, {} tokens need {}", table.size(), tokens, blocks);
      }
      const StateGroup& state = graph_.state_groups()[group];
      for (size_t block = 0; block < blocks; ++block) {
        if (table[block] == nullptr &&
            state.sees_block(static_cast<int32_t>(block), sequence.first_position)) {
          throw_invalid("batch: cache block {} of state group {} is missing", block, state.name);
        }
      }
    }
  }
  if (next_row != batch.rows())
    throw_invalid("batch: sequences have {} rows of {}", next_row, batch.rows());
}

void Plan::run(const Batch& batch) {
  check(batch);
  pool_.run([&](int member) {
    const RunContext context{&batch,        values_, &pool_.barrier(),
                             node_seconds_, member,  pool_.size()};
    for (size_t i = 0; i < compiled_.size(); ++i) {
      if (i > 0) pool_.barrier().wait();
      compiled_[i]->run(context);
    }
  });
  sampled_ = static_cast<int32_t>(batch.sampled_rows.size());
}

void Plan::measure_nodes() {
  NodeId most = 0;
  for (const NodeId id : graph_.order()) most = std::max(most, id);
  node_seconds_.assign(static_cast<size_t>(most) + 1, 0.0);
}

std::span<const float> Plan::output() const {
  const ValueId id = graph_.outputs().front();
  const auto elements =
      static_cast<size_t>(row_elements(graph_.value(id).shape)) * static_cast<size_t>(sampled_);
  return {reinterpret_cast<const float*>(values_[static_cast<size_t>(id)]), elements};
}

std::string Plan::kernels(NodeId node) const {
  for (size_t i = 0; i < partitions_.size(); ++i) {
    for (const NodeId id : partitions_[i].nodes) {
      if (id == node) return compiled_[i]->kernels(node);
    }
  }
  return "";
}

int Plan::barriers() const {
  int count = static_cast<int>(compiled_.size()) - 1;
  for (const auto& partition : compiled_) count += partition->barriers();
  return count;
}

std::vector<PackedMatrix> Plan::packed_matrices() const {
  std::vector<PackedMatrix> all;
  for (const auto& partition : compiled_) {
    for (PackedMatrix& matrix : partition->packed_matrices()) all.push_back(std::move(matrix));
  }
  return all;
}

size_t Plan::weight_bytes() const {
  size_t bytes = 0;
  for (const auto& partition : compiled_) bytes += partition->weight_bytes();
  return bytes;
}

std::vector<PackedBytes> Plan::packed_weights() const {
  std::vector<PackedBytes> all;
  for (const auto& partition : compiled_) {
    for (const PackedBytes& entry : partition->packed_weights()) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const PackedBytes& other) {
        return other.dtype == entry.dtype && other.format == entry.format;
      });
      if (same == all.end()) {
        all.push_back(entry);
      } else {
        same->count += entry.count;
        same->bytes += entry.bytes;
      }
    }
  }
  return all;
}

}  // namespace adze::graph
