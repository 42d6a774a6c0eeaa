#include "providers/cpu/cpu_provider.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "graph/operator.h"
#include "providers/cpu/step.h"

namespace adze::providers {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;

RopeTable::RopeTable(const ops::RopeSettings& settings, int32_t max_rows)
    : settings_(settings),
      frequencies_(settings),
      values_(static_cast<size_t>(max_rows) * static_cast<size_t>(settings.rotary_dim)) {}

void RopeTable::fill(const graph::RunContext& context) {
  for_each_row(context, [&](const graph::BatchSequence&, int64_t row, int32_t position) {
    frequencies_.fill(position, values_.data() + static_cast<size_t>(row * rotary_dim()));
  });
}

RopeTable& StepContext::rope_table(const Node& node) const {
  const ops::RopeSettings settings = {
      .rotary_dim = static_cast<int32_t>(node.integer("rotary_dim")),
      .theta = node.real("theta"),
      .factor = node.real("factor"),
      .original_context = node.real("original_context"),
      .low_frequency_factor = node.real("low_frequency_factor"),
      .high_frequency_factor = node.real("high_frequency_factor")};
  for (const auto& table : rope_tables) {
    if (table->settings() == settings) return *table;
  }
  rope_tables.push_back(std::make_unique<RopeTable>(settings, options.max_rows));
  return *rope_tables.back();
}

ops::CacheLayout StepContext::cache_layout(const Node& node) const {
  const graph::StateGroup& group = graph.state_groups()[static_cast<size_t>(node.integer("group"))];
  return {cpu.cache_dtype, group.kv_heads, group.head_dim};
}

size_t StepContext::layer_offset(const Node& node) const {
  const graph::StateGroup& group = graph.state_groups()[static_cast<size_t>(node.integer("group"))];
  const auto layer = std::find(group.layers.begin(), group.layers.end(),
                               static_cast<int32_t>(node.integer("layer")));
  return group.layer_block_bytes * static_cast<size_t>(layer - group.layers.begin());
}

ops::QuantizedLayout quantized_layout(const Value& value) {
  return {graph::row_elements(value.shape), value.quantization_group, value.quantization_bits};
}

int64_t row_count(const Value& value, const graph::Batch& batch) {
  return value.shape.front().axis == graph::Axis::kSampled
             ? static_cast<int64_t>(batch.sampled_rows.size())
             : batch.rows();
}

namespace {

// Codes that the int8 kernels multiply with: activation groups must hold whole weight groups.
std::optional<std::string> refuses_weights(const Graph& graph, const Node& node,
                                           const graph::WeightSource& source) {
  const Value& input = graph.value(node.inputs[0]);
  const bool linear = node.op->name == "linear";
  for (const graph::Weight& weight : linear ? graph::linear_matrices(node) : node.weights) {
    const DType dtype = weight->info(source).dtype;
    const bool plain = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
    if (!plain && scale_group(dtype) == 0) {
      return fmt::format("no kernel for {} weights", dtype_info(dtype).name);
    }
    if (input.type != graph::ElementType::kQuantized) continue;
    if (plain) return fmt::format("no int8 kernel for {} weights", dtype_info(dtype).name);
    const int64_t columns = graph::row_elements(input.shape);
    const int64_t unit = dtype == DType::kQ4_K ? 256 : scale_group(dtype);
    if (input.quantization_group % unit != 0 && input.quantization_group != columns) {
      return fmt::format("a scale per {} activations does not span the {} columns of {}",
                         input.quantization_group, unit, dtype_info(dtype).name);
    }
  }
  return std::nullopt;
}

class CpuPartition final : public graph::CompiledPartition {
 public:
  CpuPartition(const Graph& graph, std::span<const NodeId> nodes, const graph::WeightSource& source,
               const CpuOptions& cpu, const graph::PlanOptions& options, ThreadPool& pool,
               const graph::LoadProgress& progress)
      : weights_(graph, nodes, source, pool, progress), scratch_(pool.size()) {
    const StepContext context{graph, cpu, options, weights_, pool.size(), scratch_, rope_tables_};
    for (const NodeId id : nodes) {
      const Node& node = graph.node(id);
      if (graph.constant(node.outputs[0])) continue;  // read while steps are made
      std::unique_ptr<Step> step;
      if (node.op->name == "linear") {
        step = make_linear_step(context, node);
      } else if (node.op->name == "attention") {
        step = make_attention_step(context, node);
      } else {
        step = make_row_step(context, node);
      }
      if (!step) throw_unsupported("node {} ({}) has no kernels on cpu", node.name, node.op->name);
      step_of_node_[id] = steps_.size();
      node_of_step_.push_back(id);
      steps_.push_back(std::move(step));
    }
    scratch_.allocate();
  }

  void run(const graph::RunContext& context) override {
    // No step before the first barrier reads the tables: the first one embeds.
    for (const auto& table : rope_tables_) table->fill(context);
    auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i > 0 || !rope_tables_.empty()) context.barrier->wait();
      if (i > 0) note_seconds(context, i - 1, begin);
      steps_[i]->run(context);
    }
    note_seconds(context, steps_.size() - 1, begin);
  }

  int barriers() const override {
    int count = static_cast<int>(steps_.size()) - (rope_tables_.empty() ? 1 : 0);
    for (const auto& step : steps_) count += step->barriers();
    return count;
  }

  std::string kernels(NodeId node) const override {
    const auto found = step_of_node_.find(node);
    return found == step_of_node_.end() ? "" : steps_[found->second]->kernels();
  }

  size_t weight_bytes() const override { return weights_.bytes(); }

  std::vector<graph::PackedBytes> packed_weights() const override { return weights_.by_dtype(); }
  std::vector<graph::PackedMatrix> packed_matrices() const override { return weights_.matrices(); }

 private:
  // The time since `begin`, which becomes now, goes to the step's node.
  void note_seconds(const graph::RunContext& context, size_t step,
                    std::chrono::steady_clock::time_point& begin) const {
    if (context.member != 0 || context.node_seconds.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    context.node_seconds[static_cast<size_t>(node_of_step_[step])] +=
        std::chrono::duration<double>(now - begin).count();
    begin = now;
  }

  PackedWeights weights_;
  Scratch scratch_;
  std::vector<std::unique_ptr<RopeTable>> rope_tables_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::map<NodeId, size_t> step_of_node_;
  std::vector<NodeId> node_of_step_;
};

class CpuProvider final : public graph::Provider {
 public:
  explicit CpuProvider(const CpuOptions& options) : options_(options) {}

  std::string_view name() const override { return "cpu"; }

  std::optional<std::string> refuses(const Graph& graph, const Node& node,
                                     const graph::WeightSource& source) const override {
    const std::string& op = node.op->name;
    if (op == "linear" || op == "embedding") return refuses_weights(graph, node, source);
    if (op == "rsqrt" && !graph.constant(node.outputs[0])) {
      return "only constants have a reciprocal square root here";
    }
    if (op == "attention") {
      const int64_t head_dim = graph.value(node.inputs[0]).shape[2].size;
      if (head_dim % 16 != 0) return fmt::format("head_dim {} is not a multiple of 16", head_dim);
      if (options_.cache_dtype == ops::CacheDType::kI8 && head_dim > ops::kMaxInt8HeadDim) {
        return fmt::format("head_dim {} exceeds {} (int8 cache)", head_dim, ops::kMaxInt8HeadDim);
      }
      if (!graph.constant(node.inputs[2])) return "the scale is not a constant";
    }
    return std::nullopt;
  }

  size_t value_bytes(const Value& value, int64_t rows) const override {
    if (value.type == graph::ElementType::kState || value.shape.empty()) return 0;
    if (value.type == graph::ElementType::kQuantized) {
      return quantized_layout(value).row_bytes() * static_cast<size_t>(rows);
    }
    return static_cast<size_t>(graph::row_elements(value.shape) * rows) * sizeof(float);
  }

  void lay_out_state(Graph& graph) const override {
    for (size_t i = 0; i < graph.state_groups().size(); ++i) {
      graph::StateGroup& group = graph.mutable_state_group(static_cast<int32_t>(i));
      const ops::CacheLayout layout{options_.cache_dtype, group.kv_heads, group.head_dim};
      group.layer_block_bytes = layout.block_bytes();
    }
  }

  std::unique_ptr<graph::CompiledPartition> compile(const Graph& graph,
                                                    std::span<const NodeId> nodes,
                                                    const graph::WeightSource& source,
                                                    const graph::PlanOptions& options,
                                                    ThreadPool& pool,
                                                    const graph::LoadProgress& progress) override {
    return std::make_unique<CpuPartition>(graph, nodes, source, options_, options, pool, progress);
  }

 private:
  CpuOptions options_;
};

}  // namespace

std::unique_ptr<graph::Provider> make_cpu_provider(const CpuOptions& options) {
  if (!isa_available(options.isa)) throw_unsupported("this CPU has no {}", isa_name(options.isa));
  return std::make_unique<CpuProvider>(options);
}

}  // namespace adze::providers
