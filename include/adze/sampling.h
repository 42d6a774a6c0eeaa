// How tokens are drawn, and what is told of their probabilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace adze {

struct LogitBias {
  int32_t token = 0;
  double bias = 0;  // from −100 to 100, or −infinity: never this token
};

inline constexpr size_t kMaxLogitBiases = 4096;
inline constexpr int32_t kMaxLogProbabilities = 20;

// How the next token is drawn. The fields act in the order in which they stand here, each on what
// the ones before left, renormalized; each has a value that leaves everything as it is and costs
// nothing. docs/sampling.md has the definitions with their sources, and the ranges. Ties go to the
// lowest id.
struct SamplingParams {
  std::vector<LogitBias> logit_bias;  // added to the logits; at most kMaxLogitBiases tokens

  // Tokens that already stand among the last `penalty_window` ones of prompt and answer have their
  // logits lowered. The window is in tokens; −1: all of them, 0: none.
  int32_t penalty_window = -1;
  double repetition_penalty = 1;  // prompt and answer: l / penalty where l ≥ 0, else l · penalty
  double frequency_penalty = 0;   // answer only: l − penalty · occurrences
  double presence_penalty = 0;    // answer only: l − penalty

  double temperature = 0.8;  // divides the logits; 0: the likeliest token, always
  double top_n_sigma = 0;    // keep logits within n standard deviations of the highest; 0: all
  int32_t top_k = 40;        // keep the k likeliest; 0: all
  double top_p = 0.95;       // keep the fewest likeliest that hold this share; 1: all
  double min_p = 0.05;       // keep those at least this share as likely as the likeliest; 0: all
  double typical_p = 1;      // keep the fewest of most typical information that hold this; 1: all

  uint64_t seed = 0;  // the same seed, the same answer
};

struct TokenLogProbability {
  int32_t token = 0;
  double log_probability = 0;  // natural logarithm
};

// Of the model's own distribution: the log-softmax of its logits, before bias, penalties,
// temperature and filters.
struct LogProbabilities {
  double chosen = 0;                           // of the token that was drawn
  std::vector<TokenLogProbability> likeliest;  // likeliest first
};

}  // namespace adze
