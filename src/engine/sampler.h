// From logits to a token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace adze::engine {

struct SamplingParams {
  double temperature = 0.8;  // 0: the likeliest token, always
  int32_t top_k = 40;        // 0: all tokens
  double top_p = 0.95;       // 1: all tokens
  double min_p = 0.05;       // 0: all tokens
  uint64_t seed = 0;

  // Throws Error{kInvalidInput} naming the field that is out of range or not a number.
  void validate() const;
};

// The token for `position` of choice `choice`. Logits are divided by the temperature; then, in this
// order, each on the distribution that the one before left (renormalized): top-k keeps the k
// likeliest, top-p the smallest set of likeliest that holds at least p, min-p those with at least
// min_p times the likeliest's probability. Ties go to the lowest id. The result depends on the
// arguments alone. `scratch` is reused between calls. Throws Error{kInternal} where a logit is NaN
// or +infinity.
int32_t sample_token(std::span<const float> logits, const SamplingParams& params, uint32_t choice,
                     uint64_t position, std::vector<int32_t>& scratch);

}  // namespace adze::engine
