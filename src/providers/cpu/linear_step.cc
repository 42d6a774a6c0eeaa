// Linears: panels are split among the members, rows go by in blocks that stay in the cache.
#include <fmt/core.h>

#include <algorithm>

#include "graph/operator.h"
#include "ops/elementwise/elementwise.h"
#include "providers/cpu/step.h"

namespace adze::providers {
namespace {

using graph::RunContext;

// Rows of a call: their codes stay in the second-level cache while panels go by, and unpacking a
// panel is little beside multiplying it.
constexpr size_t kRowBlockBytes = 1 << 20;
constexpr int64_t kMostRows = 512;
constexpr int64_t kFewestRows = 96;
// Of gate and up at a time: each call prepares its rows anew, and the tile of `up` has to stay in
// the cache.
constexpr int64_t kGatedPanels = 8;

using GateKernel = decltype(ops::ElementwiseKernels::silu_multiply);
using ActivationKernel = decltype(ops::ElementwiseKernels::silu);

// activation(gate) · up; null where there is no gate.
GateKernel gate_kernel(const ops::ElementwiseKernels& kernels, std::string_view activation) {
  if (activation == "silu") return kernels.silu_multiply;
  if (activation == "gelu_tanh") return kernels.gelu_tanh_multiply;
  return nullptr;
}

// Null where there is no activation.
ActivationKernel activation_kernel(const ops::ElementwiseKernels& kernels, std::string_view name) {
  if (name == "silu") return kernels.silu;
  if (name == "gelu_tanh") return kernels.gelu_tanh;
  return nullptr;
}

class LinearStep final : public Step {
 public:
  LinearStep(const StepContext& context, const graph::Node& node)
      : kernels_(ops::linear_kernels(context.cpu.isa)),
        input_(node.inputs[0]),
        residual_(node.inputs.size() > 1 ? node.inputs[1] : graph::kNoId),
        gated_(!node.text("gate").empty()),
        gate_(gate_kernel(ops::elementwise_kernels(context.cpu.isa), node.text("gate"))),
        activation_(
            activation_kernel(ops::elementwise_kernels(context.cpu.isa), node.text("activation"))),
        scratch_(context.scratch) {
    const graph::Value& input = context.graph.value(input_);
    quantized_ = input.type == graph::ElementType::kQuantized;
    if (quantized_) layout_ = quantized_layout(input);
    const auto matrices = graph::linear_matrices(node);
    const auto biases = graph::linear_biases(node);
    for (size_t i = 0; i < matrices.size(); ++i) {
      const PackedWeight& weight = context.weights.matrix(matrices[i]);
      const float* bias = biases.empty() ? nullptr : context.weights.vector(biases[i]).data();
      operands_.push_back({&weight, bias, node.outputs[gated_ ? 0 : i]});
      panels_ += ops::panel_count(weight.rows);
    }
    rows_of_ = &context.graph.value(node.outputs[0]);
    const int64_t columns = operands_.front().weight->columns;
    // Float rows decode a panel once per call: all rows at once.
    row_block_ = context.options.max_rows;
    if (quantized_) {
      const auto fitting = static_cast<int64_t>(kRowBlockBytes / layout_.row_bytes());
      row_block_ = std::min(row_block_, std::clamp(fitting, kFewestRows, kMostRows));
    }
    unpack_bytes_ = (ops::linear_scratch_bytes(columns, row_block_) + 63) / 64 * 64;
    const auto up_floats = static_cast<size_t>(row_block_ * kGatedPanels * ops::kPanelRows);
    context.scratch.need_per_member(unpack_bytes_ + (gated_ ? up_floats * sizeof(float) : 0));
  }

  void run(const RunContext& context) override {
    const int64_t rows = row_count(*rows_of_, *context.batch);
    if (rows == 0) return;
    if (gated_) {
      const int64_t panels = ops::panel_count(operands_[0].weight->rows);
      run_gated(context, rows, member_range(panels, context.member, context.members));
      return;
    }
    Range share = member_range(panels_, context.member, context.members);
    for (const Operand& operand : operands_) {
      const int64_t panels = ops::panel_count(operand.weight->rows);
      const Range own = {std::max<int64_t>(share.begin, 0), std::min(share.end, panels)};
      if (own.begin < own.end) run_operand(context, operand, rows, own);
      share = {share.begin - panels, share.end - panels};
    }
  }

  std::string kernels() const override {
    std::string out;
    for (const Operand& operand : operands_) {
      const std::string kernel =
          kernels_.describe(operand.weight->format, quantized_ ? &layout_ : nullptr);
      if (out.find(kernel) == std::string::npos) out += (out.empty() ? "" : "; ") + kernel;
    }
    return out + " (1, 2–16 and more rows)";
  }

 private:
  struct Operand {
    const PackedWeight* weight;
    const float* bias;  // null: none
    graph::ValueId output;
  };

  ops::LinearArguments arguments(const RunContext& context, const Operand& operand) const {
    ops::LinearArguments a;
    a.format = &operand.weight->format;
    a.panels = operand.weight->panels;
    a.columns = operand.weight->columns;
    a.channels = operand.weight->rows;
    a.x = context.values[static_cast<size_t>(input_)];
    a.layout = quantized_ ? &layout_ : nullptr;
    a.x_stride = operand.weight->columns;
    a.scratch = scratch_.of_member(context.member);
    return a;
  }

  static void set_panels(ops::LinearArguments& a, const Operand& operand, Range panels) {
    a.first_panel = panels.begin;
    a.last_panel = panels.end;
    if (operand.bias != nullptr) a.bias = operand.bias + panels.begin * ops::kPanelRows;
  }

  void run_operand(const RunContext& context, const Operand& operand, int64_t rows, Range panels) {
    ops::LinearArguments a = arguments(context, operand);
    set_panels(a, operand, panels);
    a.y_stride = operand.weight->rows;
    const int64_t channel = panels.begin * ops::kPanelRows;
    const int64_t width = std::min(panels.end * ops::kPanelRows, a.channels) - channel;
    float* y = buffer<float>(context, operand.output);
    const float* residual = residual_ == graph::kNoId ? nullptr : buffer<float>(context, residual_);
    for (int64_t first = 0; first < rows; first += row_block_) {
      const int64_t at = first * a.y_stride + channel;
      a.first_row = first;
      a.last_row = std::min(rows, first + row_block_);
      a.y = y + at;
      a.residual = residual == nullptr ? nullptr : residual + at;
      kernels_.linear(a);
      if (activation_ == nullptr) continue;
      for (int64_t row = 0; row < a.last_row - first; ++row) {
        activation_(a.y + row * a.y_stride, width, a.y + row * a.y_stride);
      }
    }
  }

  // out = activation(gate) · up, a few panels and a block of rows at a time: the member's own part
  // of both weights.
  void run_gated(const RunContext& context, int64_t rows, Range panels) {
    ops::LinearArguments gate = arguments(context, operands_[0]);
    ops::LinearArguments up = arguments(context, operands_[1]);
    float* out = buffer<float>(context, operands_[0].output);
    auto* up_tile = reinterpret_cast<float*>(gate.scratch + unpack_bytes_);
    const int64_t channels = operands_[0].weight->rows;
    gate.y_stride = channels;
    up.y = up_tile;
    up.y_stride = kGatedPanels * ops::kPanelRows;
    for (int64_t first = 0; first < rows; first += row_block_) {
      gate.first_row = up.first_row = first;
      gate.last_row = up.last_row = std::min(rows, first + row_block_);
      for (int64_t panel = panels.begin; panel < panels.end; panel += kGatedPanels) {
        const Range some = {panel, std::min(panels.end, panel + kGatedPanels)};
        const int64_t channel = panel * ops::kPanelRows;
        set_panels(gate, operands_[0], some);
        set_panels(up, operands_[1], some);
        gate.y = out + first * channels + channel;
        kernels_.linear(gate);
        kernels_.linear(up);
        const int64_t width = std::min(some.end * ops::kPanelRows, channels) - channel;
        for (int64_t row = 0; row < gate.last_row - first; ++row) {
          float* at = gate.y + row * channels;
          gate_(at, up_tile + row * up.y_stride, width, at);
        }
      }
    }
  }

  const ops::LinearKernels& kernels_;
  graph::ValueId input_;
  graph::ValueId residual_;
  bool gated_;
  GateKernel gate_;
  ActivationKernel activation_;
  const Scratch& scratch_;
  bool quantized_ = false;
  ops::QuantizedLayout layout_;
  std::vector<Operand> operands_;
  const graph::Value* rows_of_ = nullptr;
  int64_t panels_ = 0;
  int64_t row_block_ = 0;
  size_t unpack_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Step> make_linear_step(const StepContext& context, const graph::Node& node) {
  return std::make_unique<LinearStep>(context, node);
}

}  // namespace adze::providers
