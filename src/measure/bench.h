// How fast a loaded model is, and how much of the machine that takes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "measure/limits.h"
#include "measure/work.h"

namespace adze::measure {

struct BenchOptions {
  std::vector<int32_t> prompts = {512, 4096};          // tokens of each prompt
  std::vector<int32_t> decodes = {128};                // tokens of each answer
  std::vector<int32_t> depths = {4096};                // tokens before an answer
  std::vector<int32_t> sequences = {2, 4, 8, 16, 32};  // answers at once
  int32_t repeats = 5;
};

// Tokens of a sequence, and of all sequences at once, that the cases need at most.
int32_t longest_sequence(const BenchOptions& options);
int32_t most_tokens(const BenchOptions& options);
// Answers at once.
int32_t most_sequences(const BenchOptions& options);

// One case, all repeats.
struct CaseResult {
  std::string name;           // "pp512", "tg128", "tg32 at 4096", "tg64 × 8"
  std::vector<double> rates;  // tokens per second, of all sequences together
  std::string limit;          // what bounds it: "int8", "f32" or "read"
  double share = 0;           // of that limit, at the median rate

  double median() const;
};

// Seconds that the operators of one kind took.
struct OperatorTime {
  std::string op;
  double seconds = 0;
};

struct BenchResult {
  Limits limits;
  Work work;
  std::vector<CaseResult> cases;
  // Of one more run of the first prompt: by operator, longest first. Empty without prompts.
  std::vector<OperatorTime> operators;
  // Of that run: how much of the limit the linears' operations come to over all time that is not
  // attention's.
  double share_without_attention = 0;
};

// Called before each run: its case, and how much of all is done, 0 to 1.
using BenchProgress = std::function<void(const std::string& name, double done)>;

// The model's plan has rows and sampled rows for the options, and a context for
// longest_sequence(). Greedy, each case after a short run that is not counted. Throws what the
// engine throws.
BenchResult run_bench(engine::LoadedModel& model, const BenchOptions& options,
                      const BenchProgress& progress = {});

}  // namespace adze::measure
