// One node of a partition, bound to its kernels.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "graph/provider.h"
#include "ops/linear/linear.h"
#include "ops/rope/rope.h"
#include "providers/cpu/cpu_provider.h"
#include "providers/cpu/packed_weights.h"

namespace adze::providers {

// Every member of the team calls run(); a barrier separates steps.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const graph::RunContext& context) = 0;
  // Barriers inside a run, for reports.
  virtual int barriers() const { return 0; }
  virtual std::string kernels() const = 0;
};

// Cosines and sines for the rows of the current batch; filled before the first step of a run.
class RopeTable {
 public:
  RopeTable(const ops::RopeSettings& settings, int32_t max_rows);

  const ops::RopeSettings& settings() const { return settings_; }
  int32_t rotary_dim() const { return settings_.rotary_dim; }
  // The member's share of the batch's rows.
  void fill(const graph::RunContext& context);
  const float* row(int64_t index) const {
    return values_.data() + static_cast<size_t>(index * rotary_dim());
  }

 private:
  ops::RopeSettings settings_;
  ops::RopeFrequencies frequencies_;
  std::vector<float> values_;
};

// Working memory that the steps of a partition share: they run one after another. A step states its
// need when it is made and finds the memory when it runs.
class Scratch {
 public:
  explicit Scratch(int members) : members_(members) {}
  void need_per_member(size_t bytes) {
    member_bytes_ = std::max(member_bytes_, (bytes + 63) / 64 * 64);
  }
  void need_shared(size_t bytes) {
    shared_bytes_ = std::max(shared_bytes_, (bytes + 63) / 64 * 64);
  }
  // Once all steps are made.
  void allocate() {
    memory_ = HugeBuffer(member_bytes_ * static_cast<size_t>(members_) + shared_bytes_);
  }

  // Aligned to 64 bytes; contents last for one step.
  std::byte* of_member(int member) const {
    return memory_.data() + shared_bytes_ + member_bytes_ * static_cast<size_t>(member);
  }
  std::byte* shared() const { return memory_.data(); }

 private:
  int members_;
  size_t member_bytes_ = 0;
  size_t shared_bytes_ = 0;
  HugeBuffer memory_;
};

// What steps are made from.
struct StepContext {
  const graph::Graph& graph;
  const CpuOptions& cpu;
  const graph::PlanOptions& options;
  const PackedWeights& weights;
  int members;
  Scratch& scratch;
  std::vector<std::unique_ptr<RopeTable>>& rope_tables;

  RopeTable& rope_table(const graph::Node& node) const;
  ops::CacheLayout cache_layout(const graph::Node& node) const;
  // Bytes from a block's start to the layer's part.
  size_t layer_offset(const graph::Node& node) const;
};

ops::QuantizedLayout quantized_layout(const graph::Value& value);

// Rows of a value in this batch.
int64_t row_count(const graph::Value& value, const graph::Batch& batch);

template <class T>
T* buffer(const graph::RunContext& context, graph::ValueId value) {
  return reinterpret_cast<T*>(context.values[static_cast<size_t>(value)]);
}

// Calls body(sequence, row of the batch, position) for the member's share of all rows.
template <class Body>
void for_each_row(const graph::RunContext& context, Body body) {
  const Range share = member_range(context.batch->rows(), context.member, context.members);
  for (const graph::BatchSequence& sequence : context.batch->sequences) {
    const int64_t begin = std::max<int64_t>(share.begin, sequence.first_row);
    const int64_t end = std::min<int64_t>(share.end, sequence.first_row + sequence.rows);
    for (int64_t row = begin; row < end; ++row) {
      body(sequence, row, static_cast<int32_t>(sequence.first_position + row - sequence.first_row));
    }
  }
}

std::unique_ptr<Step> make_linear_step(const StepContext& context, const graph::Node& node);
std::unique_ptr<Step> make_attention_step(const StepContext& context, const graph::Node& node);
// Every operator that works row by row; null for an operator that is none of them.
std::unique_ptr<Step> make_row_step(const StepContext& context, const graph::Node& node);

}  // namespace adze::providers
