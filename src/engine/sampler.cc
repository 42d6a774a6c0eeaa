#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/random.h"

namespace adze::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The highest logit; −∞ where no token is possible. NaN and +∞ are a damaged model's. Lanes, enough
// for an inner loop, let the compiler use vectors: a maximum is the same in any order.
float highest_logit(std::span<const float> logits) {
  constexpr size_t kLanes = 256;
  std::array<float, kLanes> highest;
  std::array<uint32_t, kLanes> wrong = {};
  highest.fill(-kInfinity);
  const auto look = [&](size_t lane, float logit) {
    highest[lane] = logit > highest[lane] ? logit : highest[lane];
    wrong[lane] |= logit < kInfinity ? 0u : 1u;
  };
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) look(lane, logits[i + lane]);
  }
  for (; i < logits.size(); ++i) look(0, logits[i]);
  if (std::find(wrong.begin(), wrong.end(), 1u) != wrong.end()) {
    for (i = 0; logits[i] < kInfinity;) ++i;
    throw_internal("the logit of token {} is {}: the model's weights may be damaged", i, logits[i]);
  }
  return *std::max_element(highest.begin(), highest.end());
}

// For a model's own logits.
void refuse_impossible(std::span<const float> logits) {
  if (highest_logit(logits) > -kInfinity) return;
  throw_internal("the logits of all {} tokens are -inf: the model's weights may be damaged",
                 logits.size());
}

bool likelier(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

// Tang et al., "Top-nσ: not all logits are you need", 2024: n standard deviations below the
// highest. Tokens that cannot come have no part in it.
double sigma_floor(std::span<const float> logits, float highest, double n) {
  size_t count = 0;
  double sum = 0;
  for (const float logit : logits) {
    if (logit == -kInfinity) continue;
    ++count;
    sum += logit;
  }
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (const float logit : logits) {
    if (logit != -kInfinity) squares += (logit - mean) * (logit - mean);
  }
  return highest - n * std::sqrt(squares / static_cast<double>(count));
}

// The lowest float that is not below `bound`.
float float_not_below(double bound) {
  const auto rounded = static_cast<float>(bound);
  return rounded < bound ? std::nextafter(rounded, kInfinity) : rounded;
}

double total_weight(std::span<const Candidate> candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

// Written so that NaN fails too.
void check_range(const char* field, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw_invalid("{}: {} is not from {} to {}", field, value, least, most);
}

void check_share(const char* field, double value) {
  if (!(value > 0 && value <= 1)) throw_invalid("{}: {} is not above 0 and up to 1", field, value);
}

}  // namespace

void validate(const SamplingParams& params) {
  if (params.logit_bias.size() > kMaxLogitBiases) {
    throw_invalid("logit_bias: {} tokens; there may be {}", params.logit_bias.size(),
                  kMaxLogitBiases);
  }
  std::vector<int32_t> tokens;
  for (const LogitBias& entry : params.logit_bias) {
    if (entry.token < 0) throw_invalid("logit_bias: token id {} is negative", entry.token);
    if (entry.bias != -kInfinity && !(entry.bias >= -100 && entry.bias <= 100)) {
      throw_invalid("logit_bias: {} for token {} is neither from -100 to 100 nor -inf", entry.bias,
                    entry.token);
    }
    tokens.push_back(entry.token);
  }
  std::sort(tokens.begin(), tokens.end());
  const auto twice = std::adjacent_find(tokens.begin(), tokens.end());
  if (twice != tokens.end()) throw_invalid("logit_bias: token {} is given twice", *twice);
  if (params.penalty_window < -1)
    throw_invalid("penalty_window: {} is below -1", params.penalty_window);
  check_range("repetition_penalty", params.repetition_penalty, 0.01, 100);
  check_range("frequency_penalty", params.frequency_penalty, -2, 2);
  check_range("presence_penalty", params.presence_penalty, -2, 2);
  check_range("temperature", params.temperature, 0, 100);
  check_range("top_n_sigma", params.top_n_sigma, 0, 100);
  if (params.top_k < 0) throw_invalid("top_k: {} is negative", params.top_k);
  check_share("top_p", params.top_p);
  check_range("min_p", params.min_p, 0, 1);
  check_share("typical_p", params.typical_p);
}

void validate_tokens(const SamplingParams& params, int32_t vocabulary) {
  for (const LogitBias& entry : params.logit_bias) {
    if (entry.token < 0 || entry.token >= vocabulary) {
      throw_invalid("logit_bias: token id {} is not from 0 to {}", entry.token, vocabulary - 1);
    }
  }
}

// Fills adjusted_: bias, then penalties.
void Sampler::adjust(std::span<const float> logits, const SamplingParams& params,
                     const SamplingHistory& history) {
  adjusted_.assign(logits.begin(), logits.end());
  for (const LogitBias& entry : params.logit_bias) {
    float& logit = adjusted_[static_cast<size_t>(entry.token)];
    logit = static_cast<float>(logit + entry.bias);
  }
  size_t window = history.tokens.size();
  if (params.penalty_window >= 0) {
    window = std::min(window, static_cast<size_t>(params.penalty_window));
  }
  distinct_.clear();
  distinct_.reserve(window);
  occurrences_.resize(logits.size());
  for (size_t i = history.tokens.size() - window; i < history.tokens.size(); ++i) {
    Occurrences& seen = occurrences_[static_cast<size_t>(history.tokens[i])];
    if (!seen.anywhere) distinct_.push_back(history.tokens[i]);
    seen.anywhere = true;
    seen.generated += i >= history.prompt_tokens ? 1 : 0;
  }
  for (const int32_t token : distinct_) {
    Occurrences& seen = occurrences_[static_cast<size_t>(token)];
    double logit = adjusted_[static_cast<size_t>(token)];
    logit = logit < 0 ? logit * params.repetition_penalty : logit / params.repetition_penalty;
    if (seen.generated > 0) {
      logit -= params.frequency_penalty * seen.generated + params.presence_penalty;
    }
    adjusted_[static_cast<size_t>(token)] = static_cast<float>(logit);
    seen = {};
  }
}

// Fills candidates_ with the `keep` likeliest tokens that are not below `floor`, by ascending id,
// without weights. What has been found raises the floor: the vocabulary is looked at once.
void Sampler::gather(std::span<const float> logits, float floor, size_t keep) {
  constexpr size_t kBlock = 16;
  constexpr size_t kSpare = 256;
  candidates_.clear();
  bool pruned = false;
  const auto prune = [&] {
    const auto end = candidates_.begin() + static_cast<ptrdiff_t>(keep);
    std::nth_element(candidates_.begin(), end - 1, candidates_.end(), likelier);
    candidates_.erase(end, candidates_.end());
    // Equal ones that come later have higher ids.
    floor = std::nextafter(candidates_.back().logit, kInfinity);
    pruned = true;
  };
  const bool bounded = keep < logits.size();
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const std::span<const float> block =
        logits.subspan(begin, std::min(kBlock, logits.size() - begin));
    if (block.size() == kBlock) {
      uint32_t any = 0;
      for (size_t i = 0; i < kBlock; ++i) any |= block[i] >= floor ? 1u : 0u;
      if (any == 0) continue;
    }
    for (size_t i = 0; i < block.size(); ++i) {
      if (block[i] < floor) continue;
      candidates_.push_back({static_cast<int32_t>(begin + i), block[i], 1});
      if (bounded && candidates_.size() == 2 * keep + kSpare) prune();
    }
  }
  if (candidates_.size() > keep) prune();
  if (!pruned) return;
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
}

// Keeps the fewest candidates of least key, ties by lowest id, whose weights reach `target`. They
// are distributed over bins, and only the bin in which the target is reached is sorted. `nat` is
// the difference of keys that divides the weight by e.
template <class Key>
void Sampler::keep_least(Key key, double nat, double target) {
  constexpr size_t kBins = 1024;
  constexpr double kNats = 40;  // what lies above has hardly any weight: one bin is enough for it
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Candidate& candidate : candidates_) {
    low = std::min(low, key(candidate));
    high = std::max(high, key(candidate));
  }
  const double scale = high > low ? kBins / std::min(kNats * nat, high - low) : 0;
  const auto bin_of = [&](const Candidate& candidate) {
    return static_cast<size_t>(std::min((key(candidate) - low) * scale, kBins - 1.0));
  };
  bins_.assign(kBins, 0);
  for (const Candidate& candidate : candidates_) bins_[bin_of(candidate)] += candidate.weight;
  double kept = 0;
  size_t bin = 0;
  while (bin < kBins && kept + bins_[bin] < target) kept += bins_[bin++];
  if (bin == kBins) return;  // by rounding: all are needed
  boundary_.clear();
  for (const Candidate& candidate : candidates_) {
    if (bin_of(candidate) == bin) boundary_.push_back(candidate);
  }
  const auto before = [&](const Candidate& a, const Candidate& b) {
    return key(a) < key(b) || (key(a) == key(b) && a.token < b.token);
  };
  std::sort(boundary_.begin(), boundary_.end(), before);
  auto last = boundary_.begin();
  kept += last->weight;
  while (kept < target && last + 1 != boundary_.end()) kept += (++last)->weight;
  std::erase_if(candidates_, [&](const Candidate& candidate) { return before(*last, candidate); });
}

std::span<const Candidate> Sampler::distribution(std::span<const float> logits,
                                                 const SamplingParams& params,
                                                 const SamplingHistory& history) {
  const bool penalized =
      params.penalty_window != 0 && (params.repetition_penalty != 1 ||
                                     params.frequency_penalty != 0 || params.presence_penalty != 0);
  const std::span<const float> raw = logits;
  if (penalized || !params.logit_bias.empty()) {
    adjust(raw, params, history);
    logits = adjusted_;
  }
  const float highest = highest_logit(logits);
  if (highest == -kInfinity) {
    refuse_impossible(raw);
    throw_invalid("logit_bias: no token is left");
  }
  if (params.temperature == 0) {
    const auto token = std::find(logits.begin(), logits.end(), highest) - logits.begin();
    candidates_.assign(1, {static_cast<int32_t>(token), highest, 1});
    return candidates_;
  }

  float floor = std::numeric_limits<float>::lowest();
  if (params.top_p == 1 && params.min_p > 0) {
    // Nobody asks for the mass of what min-p is sure to remove.
    floor = float_not_below(highest + params.temperature * (std::log(params.min_p) - 0.001));
  }
  if (params.top_n_sigma > 0) {
    floor = std::max(floor, float_not_below(sigma_floor(logits, highest, params.top_n_sigma)));
  }
  gather(logits, floor, params.top_k > 0 ? static_cast<size_t>(params.top_k) : logits.size());
  const auto below = [&](const Candidate& candidate) {
    return static_cast<double>(highest) - candidate.logit;
  };
  for (Candidate& candidate : candidates_) {
    candidate.weight = std::exp(-below(candidate) / params.temperature);
  }
  // Top-p and min-p both keep the likeliest, so that the stricter one decides: min-p, the cheaper
  // one, may go first once top-p has seen the total.
  const double target = params.top_p < 1 ? params.top_p * total_weight(candidates_) : 0;
  const double least = std::max(params.min_p, std::numeric_limits<double>::denorm_min());
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.weight < least; });
  if (params.top_p < 1) keep_least(below, params.temperature, target);
  if (params.typical_p < 1) {
    // Meister et al., "Locally typical sampling", 2022: by how far a token's information is from
    // its mean, the entropy. Both are taken less that of the likeliest.
    const double total = total_weight(candidates_);
    double mean = 0;
    for (const Candidate& candidate : candidates_) {
      mean += candidate.weight / total * below(candidate);
    }
    keep_least([&](const Candidate& candidate) { return std::abs(below(candidate) - mean); },
               params.temperature, params.typical_p * total);
  }
  return candidates_;
}

int32_t Sampler::sample(std::span<const float> logits, const SamplingParams& params,
                        const SamplingHistory& history, uint32_t choice) {
  const std::span<const Candidate> candidates = distribution(logits, params, history);
  if (candidates.size() == 1) return candidates.front().token;
  double left = uniform(params.seed, choice, history.tokens.size(), 0) * total_weight(candidates);
  for (const Candidate& candidate : candidates) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return candidates.back().token;  // by rounding
}

LogProbabilities Sampler::log_probabilities(std::span<const float> logits, int32_t chosen,
                                            int32_t count) {
  const double highest = highest_logit(logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(logit - highest);
  const double subtract = highest + std::log(total);
  LogProbabilities out;
  out.chosen = logits[static_cast<size_t>(chosen)] - subtract;
  if (count == 0) return out;
  gather(logits, std::numeric_limits<float>::lowest(), static_cast<size_t>(count));
  std::sort(candidates_.begin(), candidates_.end(), likelier);
  for (const Candidate& candidate : candidates_) {
    out.likeliest.push_back({candidate.token, candidate.logit - subtract});
  }
  return out;
}

}  // namespace adze::engine
