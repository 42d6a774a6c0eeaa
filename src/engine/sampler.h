// From logits to a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace adze::engine {

struct LogitBias {
  int32_t token = 0;
  double bias = 0;  // from −100 to 100, or −infinity: never this token
};

inline constexpr size_t kMaxLogitBiases = 4096;
inline constexpr int32_t kMaxLogProbabilities = 20;

// How the next token is drawn. The fields act in the order in which they stand here, each on what
// the ones before left, renormalized; each has a value that leaves everything as it is and costs
// nothing. docs/sampling.md has the definitions with their sources.
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

  uint64_t seed = 0;

  // Throws Error{kInvalidInput} naming the field that is out of range, not a number or given twice.
  void validate() const;
  // The same for token ids that are not below `vocabulary`.
  void validate_tokens(int32_t vocabulary) const;
};

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

struct TokenLogProbability {
  int32_t token = 0;
  double log_probability = 0;  // natural logarithm
};

// Of the model's own distribution: the log-softmax of its logits, before bias, penalties,
// temperature and filters.
struct LogProbabilities {
  double chosen = 0;                           // of the token that was drawn
  std::vector<TokenLogProbability> likeliest;  // likeliest first, ties by lowest id
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
