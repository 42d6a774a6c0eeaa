// A checkpoint made ready to run: graph built, passes run, weights packed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "graph/passes/pass.h"
#include "graph/plan.h"
#include "graph/verify.h"
#include "ops/attention/cache_layout.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::engine {

struct ModelOptions {
  int threads = 0;         // 0: one per CPU
  std::optional<Isa> isa;  // nothing: the best available, or ADZE_ISA
  ops::CacheDType cache_dtype = ops::CacheDType::kBF16;
  // First tokens that layers with a window see beside it (attention sinks: Xiao et al., Efficient
  // Streaming Language Models with Attention Sinks, 2023).
  int32_t sinks = 0;
  graph::PassOptions passes;
  graph::PlanOptions plan;  // max_context is cut to the model's own
  // Compare the logits before and after each pass: a plan is made for every one of them.
  bool verify_passes = false;
};

// Owns all that a plan needs. One user at a time.
class LoadedModel {
 public:
  // Throws Error naming the file and what is wrong with it.
  LoadedModel(checkpoint::Checkpoint checkpoint, const ModelOptions& options,
              const graph::LoadProgress& progress = {});
  LoadedModel(const std::filesystem::path& path, const ModelOptions& options,
              const graph::LoadProgress& progress = {});

  const checkpoint::Checkpoint& checkpoint() const { return checkpoint_; }
  const models::ModelConfig& config() const { return checkpoint_.config; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  graph::Plan& plan() { return *plan_; }
  const graph::Plan& plan() const { return *plan_; }
  Isa isa() const { return isa_; }
  int threads() const { return pool_.size(); }
  // The threads that plan() runs on, for other work between runs.
  ThreadPool& pool() { return pool_; }
  // Operators of the declaration, and what each pass made of it.
  const graph::OperatorCounts& declared() const { return declared_; }
  const std::vector<graph::PassReport>& passes() const { return reports_; }
  // One for each enabled pass where ModelOptions asked for them; none has been judged.
  const std::vector<graph::PassCheck>& pass_checks() const { return checks_; }

 private:
  checkpoint::Checkpoint checkpoint_;
  Isa isa_;
  ThreadPool pool_;
  std::unique_ptr<graph::Provider> cpu_;
  graph::OperatorCounts declared_;
  std::vector<graph::PassReport> reports_;
  std::vector<graph::PassCheck> checks_;
  std::unique_ptr<graph::Plan> plan_;
  std::unique_ptr<const text::Tokenizer> tokenizer_;
};

}  // namespace adze::engine
