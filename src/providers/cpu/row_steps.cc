// Operators that work row by row: each member takes a share of the batch's rows.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "graph/operator.h"
#include "ops/attention/attention.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"
#include "providers/cpu/step.h"

namespace adze::providers {
namespace {

using graph::Node;
using graph::RunContext;
using graph::ValueId;

// Tells the instruction set of the kernels that serve `isa`.
template <class Kernels>
std::string kernel_name(std::span<const ops::KernelTable<Kernels>> tables, Isa isa,
                        std::string_view what) {
  return fmt::format("{}: {}", isa_name(ops::best_table(tables, isa).isa), what);
}

class EmbeddingStep final : public Step {
 public:
  EmbeddingStep(const StepContext& context, const Node& node)
      : table_(context.weights.matrix(node.weights[0])), output_(node.outputs[0]) {}

  void run(const RunContext& context) override {
    const size_t panel_bytes = ops::panel_bytes(table_.format, table_.columns);
    for_each_row(context, [&](const graph::BatchSequence&, int64_t row, int32_t) {
      const int32_t token = context.batch->tokens[static_cast<size_t>(row)];
      ops::unpack_row(table_.format, table_.columns,
                      table_.panels + static_cast<size_t>(token / ops::kPanelRows) * panel_bytes,
                      token % ops::kPanelRows,
                      buffer<float>(context, output_) + row * table_.columns);
    });
  }
  std::string kernels() const override { return "rows of " + table_.format.text() + " panels"; }

 private:
  const PackedWeight& table_;
  ValueId output_;
};

// Where a norm's results go: rows of float32, or quantized at once where the graph wants them so.
class NormedRows {
 public:
  NormedRows(const StepContext& context, ValueId output, std::span<const float> weight,
             double epsilon)
      : norm_(ops::norm_kernels(context.cpu.isa)),
        linear_(ops::linear_kernels(context.cpu.isa)),
        value_(context.graph.value(output)),
        id_(output),
        weight_(weight),
        epsilon_(static_cast<float>(epsilon)),
        quantized_(value_.type == graph::ElementType::kQuantized) {
    if (quantized_) layout_ = quantized_layout(value_);
  }

  const graph::Value& value() const { return value_; }
  int64_t width() const { return static_cast<int64_t>(weight_.size()); }
  bool quantized() const { return quantized_; }
  // Row `row` of width() elements from x; `scratch` has place for one.
  void write(const RunContext& context, const float* x, int64_t row, float* scratch) const {
    float* out = quantized_ ? scratch : buffer<float>(context, id_) + row * width();
    norm_.rms_norm(x, weight_.data(), epsilon_, width(), out);
    if (!quantized_) return;
    linear_.quantize_row(
        layout_, out,
        buffer<std::byte>(context, id_) + static_cast<size_t>(row) * layout_.row_bytes());
  }
  std::string kernels() const {
    return quantized_ ? fmt::format("rms_norm, int{} rows", layout_.bits) : "rms_norm";
  }

 private:
  const ops::NormKernels& norm_;
  const ops::LinearKernels& linear_;
  const graph::Value& value_;
  ValueId id_;
  std::span<const float> weight_;
  float epsilon_;
  bool quantized_;
  ops::QuantizedLayout layout_;
};

class NormStep final : public Step {
 public:
  NormStep(const StepContext& context, const Node& node)
      : isa_(context.cpu.isa),
        input_(node.inputs[0]),
        normed_(context, node.outputs[0], context.weights.vector(node.weights[0]),
                node.real("epsilon")),
        scratch_(context.scratch) {
    if (normed_.quantized()) {
      context.scratch.need_per_member(static_cast<size_t>(normed_.width()) * sizeof(float));
    }
  }

  void run(const RunContext& context) override {
    const graph::Value& output = normed_.value();
    const int64_t n = normed_.width();
    const int64_t heads = graph::row_elements(output.shape) / n;  // 1: the whole row
    const Range share =
        member_range(row_count(output, *context.batch) * heads, context.member, context.members);
    auto* scratch = reinterpret_cast<float*>(scratch_.of_member(context.member));
    for (int64_t row = share.begin; row < share.end; ++row) {
      normed_.write(context, buffer<float>(context, input_) + row * n, row, scratch);
    }
  }
  std::string kernels() const override {
    return kernel_name(ops::norm_kernel_tables(), isa_, normed_.kernels());
  }

 private:
  Isa isa_;
  ValueId input_;
  NormedRows normed_;
  const Scratch& scratch_;
};

// The sum of a residual and x, x normed before where it has a weight, and the norm of the sum: a
// row at a time, while it is in the cache.
class ResidualNormStep final : public Step {
 public:
  ResidualNormStep(const StepContext& context, const Node& node)
      : isa_(context.cpu.isa),
        norm_(ops::norm_kernels(isa_)),
        elementwise_(ops::elementwise_kernels(isa_)),
        residual_(node.inputs[0]),
        input_(node.inputs[1]),
        sum_(node.outputs[0]),
        normed_(context, node.outputs[1], context.weights.vector(node.weights.back()),
                node.real("epsilon")),
        post_epsilon_(static_cast<float>(node.real("post_epsilon"))),
        scratch_(context.scratch) {
    if (node.weights.size() > 1) post_ = context.weights.vector(node.weights.front());
    context.scratch.need_per_member(static_cast<size_t>(normed_.width()) * sizeof(float));
  }

  void run(const RunContext& context) override {
    const int64_t n = normed_.width();
    const Range share =
        member_range(row_count(normed_.value(), *context.batch), context.member, context.members);
    auto* scratch = reinterpret_cast<float*>(scratch_.of_member(context.member));
    for (int64_t row = share.begin; row < share.end; ++row) {
      const float* x = buffer<float>(context, input_) + row * n;
      if (!post_.empty()) {
        norm_.rms_norm(x, post_.data(), post_epsilon_, n, scratch);
        x = scratch;
      }
      float* sum = buffer<float>(context, sum_) + row * n;
      elementwise_.add(buffer<float>(context, residual_) + row * n, x, n, sum);
      normed_.write(context, sum, row, scratch);
    }
  }
  std::string kernels() const override {
    return kernel_name(
        ops::norm_kernel_tables(), isa_,
        fmt::format("{}add, {}", post_.empty() ? "" : "rms_norm, ", normed_.kernels()));
  }

 private:
  Isa isa_;
  const ops::NormKernels& norm_;
  const ops::ElementwiseKernels& elementwise_;
  ValueId residual_;
  ValueId input_;
  ValueId sum_;
  NormedRows normed_;
  std::span<const float> post_;  // of the norm of x; empty: there is none
  float post_epsilon_;
  const Scratch& scratch_;
};

class QuantizeStep final : public Step {
 public:
  QuantizeStep(const StepContext& context, const Node& node)
      : isa_(context.cpu.isa),
        kernels_(ops::linear_kernels(isa_)),
        input_(node.inputs[0]),
        output_(context.graph.value(node.outputs[0])),
        output_id_(node.outputs[0]),
        layout_(quantized_layout(output_)) {}

  void run(const RunContext& context) override {
    const Range share =
        member_range(row_count(output_, *context.batch), context.member, context.members);
    for (int64_t row = share.begin; row < share.end; ++row) {
      kernels_.quantize_row(
          layout_, buffer<float>(context, input_) + row * layout_.columns,
          buffer<std::byte>(context, output_id_) + static_cast<size_t>(row) * layout_.row_bytes());
    }
  }
  std::string kernels() const override {
    return kernel_name(ops::linear_kernel_tables(), isa_, fmt::format("int{} rows", layout_.bits));
  }

 private:
  Isa isa_;
  const ops::LinearKernels& kernels_;
  ValueId input_;
  const graph::Value& output_;
  ValueId output_id_;
  ops::QuantizedLayout layout_;
};

class GatherStep final : public Step {
 public:
  GatherStep(const StepContext& context, const Node& node)
      : input_(node.inputs[0]),
        output_(node.outputs[0]),
        columns_(graph::row_elements(context.graph.value(output_).shape)) {}

  void run(const RunContext& context) override {
    const auto& sampled = context.batch->sampled_rows;
    const Range share =
        member_range(static_cast<int64_t>(sampled.size()), context.member, context.members);
    for (int64_t i = share.begin; i < share.end; ++i) {
      std::memcpy(buffer<float>(context, output_) + i * columns_,
                  buffer<float>(context, input_) + sampled[static_cast<size_t>(i)] * columns_,
                  static_cast<size_t>(columns_) * sizeof(float));
    }
  }
  std::string kernels() const override { return "copy"; }

 private:
  ValueId input_;
  ValueId output_;
  int64_t columns_;
};

// Rotation of queries or keys on its own, and with the write to the cache.
class RopeStep final : public Step {
 public:
  RopeStep(const StepContext& context, const Node& node)
      : isa_(context.cpu.isa),
        kernels_(ops::rope_kernels(isa_)),
        table_(context.rope_table(node)),
        input_(node.inputs[0]),
        output_(node.outputs[0]) {
    const graph::Shape& shape = context.graph.value(input_).shape;
    heads_ = static_cast<int32_t>(shape[1].size);
    head_dim_ = static_cast<int32_t>(shape[2].size);
  }

  void run(const RunContext& context) override {
    for_each_row(context, [&](const graph::BatchSequence&, int64_t row, int32_t) {
      const int64_t at = row * heads_ * head_dim_;
      kernels_.rotate(table_.row(row), table_.rotary_dim(), head_dim_, heads_,
                      buffer<float>(context, input_) + at, buffer<float>(context, output_) + at);
    });
  }
  std::string kernels() const override {
    return kernel_name(ops::rope_kernel_tables(), isa_, "rotate");
  }

 private:
  Isa isa_;
  const ops::RopeKernels& kernels_;
  const RopeTable& table_;
  ValueId input_;
  ValueId output_;
  int32_t heads_ = 0;
  int32_t head_dim_ = 0;
};

class KvWriteStep final : public Step {
 public:
  // With `rope`: queries come first, and queries and keys are rotated.
  KvWriteStep(const StepContext& context, const Node& node, bool rope)
      : isa_(context.cpu.isa),
        rope_(ops::rope_kernels(isa_)),
        attention_(ops::attention_kernels(isa_)),
        layout_(context.cache_layout(node)),
        layer_offset_(context.layer_offset(node)),
        group_(static_cast<size_t>(node.integer("group"))),
        table_(rope ? &context.rope_table(node) : nullptr),
        keys_(node.inputs[rope ? 1 : 0]),
        values_(node.inputs[rope ? 2 : 1]),
        scratch_(context.scratch) {
    if (rope) {
      query_ = node.inputs[0];
      rotated_ = node.outputs[0];
      heads_ = static_cast<int32_t>(context.graph.value(query_).shape[1].size);
      context.scratch.need_per_member(static_cast<size_t>(layout_.kv_heads * layout_.head_dim) *
                                      sizeof(float));
    }
  }

  void run(const RunContext& context) override {
    const int64_t kv_row = int64_t{layout_.kv_heads} * layout_.head_dim;
    const int64_t query_row = int64_t{heads_} * layout_.head_dim;
    for_each_row(context, [&](const graph::BatchSequence& sequence, int64_t row, int32_t position) {
      const float* keys = buffer<float>(context, keys_) + row * kv_row;
      if (table_ != nullptr) {
        auto* rotated = reinterpret_cast<float*>(scratch_.of_member(context.member));
        rope_.rotate(table_->row(row), table_->rotary_dim(), layout_.head_dim, layout_.kv_heads,
                     keys, rotated);
        keys = rotated;
        rope_.rotate(table_->row(row), table_->rotary_dim(), layout_.head_dim, heads_,
                     buffer<float>(context, query_) + row * query_row,
                     buffer<float>(context, rotated_) + row * query_row);
      }
      std::byte* block = sequence.blocks[group_][static_cast<size_t>(position / ops::kCacheTokens)];
      attention_.write_kv(layout_, block + layer_offset_, position % ops::kCacheTokens, keys,
                          buffer<float>(context, values_) + row * kv_row);
    });
  }
  std::string kernels() const override {
    return kernel_name(ops::attention_kernel_tables(), isa_,
                       fmt::format("{}cache write ({})", table_ != nullptr ? "rotate, " : "",
                                   ops::cache_dtype_name(layout_.dtype)));
  }

 private:
  Isa isa_;
  const ops::RopeKernels& rope_;
  const ops::AttentionKernels& attention_;
  ops::CacheLayout layout_;
  size_t layer_offset_;
  size_t group_;
  const RopeTable* table_;
  ValueId keys_;
  ValueId values_;
  const Scratch& scratch_;
  ValueId query_ = graph::kNoId;
  ValueId rotated_ = graph::kNoId;
  int32_t heads_ = 0;
};

// Elementwise operators over rows: one or two inputs, the second a value or a constant.
class ElementwiseStep final : public Step {
 public:
  using Operation = void (*)(const ops::ElementwiseKernels&, const float* a, const float* b,
                             float scalar, int64_t count, float* out);

  ElementwiseStep(const StepContext& context, const Node& node, Operation operation)
      : isa_(context.cpu.isa),
        kernels_(ops::elementwise_kernels(isa_)),
        name_(node.op->name),
        operation_(operation),
        output_(context.graph.value(node.outputs[0])),
        output_id_(node.outputs[0]),
        columns_(graph::row_elements(output_.shape)) {
    for (const ValueId input : node.inputs) {
      if (const auto constant = context.graph.constant(input)) {
        scalar_ = static_cast<float>(*constant);
      } else {
        inputs_.push_back(input);
      }
    }
  }

  void run(const RunContext& context) override {
    const Range share =
        member_range(row_count(output_, *context.batch), context.member, context.members);
    const int64_t at = share.begin * columns_;
    const float* a = buffer<float>(context, inputs_[0]) + at;
    const float* b = inputs_.size() > 1 ? buffer<float>(context, inputs_[1]) + at : nullptr;
    operation_(kernels_, a, b, scalar_, share.size() * columns_,
               buffer<float>(context, output_id_) + at);
  }
  std::string kernels() const override {
    return kernel_name(ops::elementwise_kernel_tables(), isa_, name_);
  }

 private:
  Isa isa_;
  const ops::ElementwiseKernels& kernels_;
  std::string name_;
  Operation operation_;
  const graph::Value& output_;
  ValueId output_id_;
  int64_t columns_;
  std::vector<ValueId> inputs_;
  float scalar_ = 0;
};

// x + b: what is left where no linear takes the bias.
class BiasStep final : public Step {
 public:
  BiasStep(const StepContext& context, const Node& node)
      : isa_(context.cpu.isa),
        input_(node.inputs[0]),
        output_(context.graph.value(node.outputs[0])),
        output_id_(node.outputs[0]),
        bias_(context.weights.vector(node.weights[0])) {}

  void run(const RunContext& context) override {
    const auto columns = static_cast<int64_t>(bias_.size());
    const Range share =
        member_range(row_count(output_, *context.batch), context.member, context.members);
    for (int64_t row = share.begin; row < share.end; ++row) {
      const float* x = buffer<float>(context, input_) + row * columns;
      ops::elementwise_kernels(isa_).add(x, bias_.data(), columns,
                                         buffer<float>(context, output_id_) + row * columns);
    }
  }
  std::string kernels() const override {
    return kernel_name(ops::elementwise_kernel_tables(), isa_, "add");
  }

 private:
  Isa isa_;
  ValueId input_;
  const graph::Value& output_;
  ValueId output_id_;
  std::span<const float> bias_;
};

using ops::ElementwiseKernels;

void add(const ElementwiseKernels& kernels, const float* a, const float* b, float scalar,
         int64_t count, float* out) {
  b != nullptr ? kernels.add(a, b, count, out) : kernels.add_scalar(a, scalar, count, out);
}

void multiply(const ElementwiseKernels& kernels, const float* a, const float* b, float scalar,
              int64_t count, float* out) {
  b != nullptr ? kernels.multiply(a, b, count, out)
               : kernels.multiply_scalar(a, scalar, count, out);
}

void copy(const ElementwiseKernels&, const float* a, const float*, float, int64_t count,
          float* out) {
  if (a != out && count > 0) std::memcpy(out, a, static_cast<size_t>(count) * sizeof(float));
}

void gelu_tanh(const ElementwiseKernels& kernels, const float* a, const float*, float,
               int64_t count, float* out) {
  kernels.gelu_tanh(a, count, out);
}

void silu(const ElementwiseKernels& kernels, const float* a, const float*, float, int64_t count,
          float* out) {
  kernels.silu(a, count, out);
}

}  // namespace

std::unique_ptr<Step> make_row_step(const StepContext& context, const Node& node) {
  const std::string& op = node.op->name;
  if (op == "embedding") return std::make_unique<EmbeddingStep>(context, node);
  if (op == "bias") return std::make_unique<BiasStep>(context, node);
  if (op == "rms_norm") return std::make_unique<NormStep>(context, node);
  if (op == "residual_norm") return std::make_unique<ResidualNormStep>(context, node);
  if (op == "quantize") return std::make_unique<QuantizeStep>(context, node);
  if (op == "gather_sampled") return std::make_unique<GatherStep>(context, node);
  if (op == "rope") return std::make_unique<RopeStep>(context, node);
  if (op == "kv_write") return std::make_unique<KvWriteStep>(context, node, false);
  if (op == "rope_kv_write") return std::make_unique<KvWriteStep>(context, node, true);
  using Entry = std::pair<std::string_view, ElementwiseStep::Operation>;
  for (const auto& [name, operation] :
       {Entry{"add", add}, Entry{"multiply", multiply}, Entry{"gelu_tanh", gelu_tanh},
        Entry{"identity", copy}, Entry{"silu", silu}}) {
    if (op == name) return std::make_unique<ElementwiseStep>(context, node, operation);
  }
  return nullptr;
}

}  // namespace adze::providers
