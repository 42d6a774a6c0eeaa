#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "engine/random.h"

namespace adze::engine {
namespace {

int32_t likeliest(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// A damaged model's; −∞ is a token that cannot come.
void refuse_not_finite(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < std::numeric_limits<float>::infinity())) {
      throw_internal("the logit of token {} is {}: the model's weights may be damaged", i,
                     logits[i]);
    }
  }
}

}  // namespace

void SamplingParams::validate() const {
  // Written so that NaN fails too.
  if (!(temperature >= 0 && temperature <= 100)) {
    throw_invalid("temperature: {} is not from 0 to 100", temperature);
  }
  if (top_k < 0) throw_invalid("top_k: {} is negative", top_k);
  if (!(top_p > 0 && top_p <= 1)) throw_invalid("top_p: {} is not above 0 and up to 1", top_p);
  if (!(min_p >= 0 && min_p <= 1)) throw_invalid("min_p: {} is not from 0 to 1", min_p);
}

int32_t sample_token(std::span<const float> logits, const SamplingParams& params, uint32_t choice,
                     uint64_t position, std::vector<int32_t>& scratch) {
  refuse_not_finite(logits);
  if (params.temperature == 0) return likeliest(logits);

  // A heap gives tokens in descending order one at a time: the vocabulary is never sorted.
  scratch.resize(logits.size());
  std::iota(scratch.begin(), scratch.end(), 0);
  const auto less_likely = [&](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)];
    const float right = logits[static_cast<size_t>(b)];
    return left < right || (left == right && a > b);
  };
  const double highest = logits[static_cast<size_t>(likeliest(logits))];
  const auto weight = [&](int32_t id) {
    return std::exp((logits[static_cast<size_t>(id)] - highest) / params.temperature);
  };
  size_t keep = logits.size();
  if (params.top_k > 0) keep = std::min(keep, static_cast<size_t>(params.top_k));
  double total = 0;
  auto end = scratch.end();
  if (keep < scratch.size()) {
    std::nth_element(scratch.begin(), scratch.begin() + static_cast<ptrdiff_t>(keep), end,
                     [&](int32_t a, int32_t b) { return less_likely(b, a); });
    end = scratch.begin() + static_cast<ptrdiff_t>(keep);
  }
  // In order of id, so that the sum does not depend on how the selection left them.
  std::sort(scratch.begin(), end);
  for (auto id = scratch.begin(); id != end; ++id) total += weight(*id);
  std::make_heap(scratch.begin(), end, less_likely);

  // The kept ones, likeliest first, move to the back of the heap's range.
  const auto all_end = end;
  double kept = 0;
  while (end != scratch.begin()) {
    const double next = weight(scratch.front());
    const bool enough = kept >= params.top_p * total;
    const bool too_small = next < params.min_p;  // the likeliest weighs 1
    if (end != all_end && (enough || too_small)) break;
    std::pop_heap(scratch.begin(), end, less_likely);
    --end;
    kept += next;
  }
  double left = uniform(params.seed, choice, position, 0) * kept;
  for (auto id = all_end; id != end;) {
    --id;
    left -= weight(*id);
    if (left < 0) return *id;
  }
  return *end;  // rounding: the least likely of the kept
}

}  // namespace adze::engine
