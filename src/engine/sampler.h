// From logits to a token.
#pragma once

#include <adze/sampling.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace adze::engine {

using adze::kMaxLogitBiases;
using adze::kMaxLogProbabilities;
using adze::LogitBias;
using adze::LogProbabilities;
using adze::SamplingParams;

// Throws Error{kInvalidInput} naming the field that is out of range, not a number or given twice.
void validate(const SamplingParams& params);
// The same for token ids that are not below `vocabulary`.
void validate_tokens(const SamplingParams& params, int32_t vocabulary);

// What came before the token that is to be drawn. Its position is the number of tokens.
struct SamplingHistory {
  std::span<const int32_t> tokens;  // prompt and answer so far
  size_t prompt_tokens = 0;         // of these
};

// A token that may be drawn. `weight` is relative: the likeliest has 1.
struct Candidate {
  int32_t token;
  float logit;  // after bias and penalties
  double weight;
};

// Draws tokens; keeps its buffers between calls. Results depend on the arguments alone. Ties go to
// the lowest id. Parameters must have passed both validations. Not thread-safe.
//
// All functions throw Error{kInternal} where a logit is NaN or +infinity, which damaged weights
// cause, or where none is finite, and Error{kInvalidInput} where the bias leaves no token.
class Sampler {
 public:
  // The token for choice `choice` of the answer: a draw from distribution(), decided by the seed,
  // the choice and the position.
  int32_t sample(std::span<const float> logits, const SamplingParams& params,
                 const SamplingHistory& history, uint32_t choice = 0);

  // The tokens that may be drawn, by ascending id, none with weight 0; at temperature 0 one alone.
  // Valid until the next call.
  std::span<const Candidate> distribution(std::span<const float> logits,
                                          const SamplingParams& params,
                                          const SamplingHistory& history);

  // The log-probability of `chosen` and of the `count` likeliest tokens that are possible at all.
  LogProbabilities log_probabilities(std::span<const float> logits, int32_t chosen, int32_t count);

 private:
  struct Occurrences {
    bool anywhere = false;
    int32_t generated = 0;
  };

  void adjust(std::span<const float> logits, const SamplingParams& params,
              const SamplingHistory& history);
  void gather(std::span<const float> logits, float floor, size_t keep);
  template <class Key>
  void keep_least(Key key, double nat, double target);

  std::vector<float> adjusted_;           // logits after bias and penalties
  std::vector<Occurrences> occurrences_;  // by token; empty ones between calls
  std::vector<int32_t> distinct_;
  std::vector<Candidate> candidates_;
  std::vector<double> bins_;
  std::vector<Candidate> boundary_;
};

}  // namespace adze::engine
