#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/random.h"

namespace adze::engine {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10 rounds).
TEST(Philox, GivesThePublishedNumbers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<float> random_logits(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

// The oracle: the processors of Hugging Face's `transformers` (generation/logits_process.py) and
// the top-nσ paper, in float64 over the whole vocabulary, −∞ for what is removed. Each says what it
// removes from scores that the one before left.
using Scores = std::vector<double>;
constexpr double kNever = -std::numeric_limits<double>::infinity();

Scores softmax(const Scores& scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  Scores p;
  double sum = 0;
  for (const double score : scores) sum += p.emplace_back(std::exp(score - highest));
  for (double& v : p) v /= sum;
  return p;
}

// Token ids by ascending key, equal keys by id.
std::vector<size_t> argsort(const Scores& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  return order;
}

void penalize(Scores& scores, const SamplingParams& params, const SamplingHistory& history) {
  for (const LogitBias& entry : params.logit_bias)
    scores[static_cast<size_t>(entry.token)] += entry.bias;
  std::map<int32_t, int> anywhere;
  std::map<int32_t, int> generated;
  for (size_t i = 0; i < history.tokens.size(); ++i) {
    if (params.penalty_window >= 0 &&
        i + static_cast<size_t>(params.penalty_window) < history.tokens.size()) {
      continue;
    }
    ++anywhere[history.tokens[i]];
    if (i >= history.prompt_tokens) ++generated[history.tokens[i]];
  }
  for (const auto& [token, count] : anywhere) {
    double& score = scores[static_cast<size_t>(token)];
    score = score < 0 ? score * params.repetition_penalty : score / params.repetition_penalty;
  }
  // mu[j] − c[j] · frequency − (c[j] > 0) · presence, as OpenAI's API reference had it.
  for (const auto& [token, count] : generated) {
    scores[static_cast<size_t>(token)] -=
        count * params.frequency_penalty + params.presence_penalty;
  }
}

void top_n_sigma(Scores& scores, double n) {
  std::vector<double> finite;
  std::copy_if(scores.begin(), scores.end(), std::back_inserter(finite),
               [](double s) { return s > kNever; });
  const auto count = static_cast<double>(finite.size());
  const double mean = std::accumulate(finite.begin(), finite.end(), 0.0) / count;
  double variance = 0;
  for (const double s : finite) variance += (s - mean) * (s - mean) / count;
  const double highest = *std::max_element(finite.begin(), finite.end());
  for (double& s : scores) {
    if (s < highest - n * std::sqrt(variance)) s = kNever;
  }
}

// What is beyond the k-th, equal scores by id (transformers keeps all that equal the k-th).
void top_k(Scores& scores, size_t k) {
  Scores negative;
  for (const double s : scores) negative.push_back(-s);
  const std::vector<size_t> order = argsort(negative);
  for (size_t i = k; i < order.size(); ++i) scores[order[i]] = kNever;
}

// Ascending cumulative probability up to 1 − p is removed; of equal scores the higher ids first.
void top_p(Scores& scores, double p) {
  const Scores probabilities = softmax(scores);
  Scores negative;
  for (const double s : scores) negative.push_back(-s);
  std::vector<size_t> order = argsort(negative);
  std::reverse(order.begin(), order.end());
  double cumulative = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    cumulative += probabilities[order[i]];
    if (cumulative <= 1 - p) scores[order[i]] = kNever;
  }
}

void min_p(Scores& scores, double p) {
  const Scores probabilities = softmax(scores);
  const double highest = *std::max_element(probabilities.begin(), probabilities.end());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (probabilities[i] < p * highest) scores[i] = kNever;
  }
}

void typical_p(Scores& scores, double mass) {
  const Scores p = softmax(scores);
  double entropy = 0;
  for (const double v : p) entropy -= v > 0 ? v * std::log(v) : 0;
  Scores shifted;
  for (const double v : p) shifted.push_back(std::abs(-std::log(v) - entropy));
  const std::vector<size_t> order = argsort(shifted);
  double cumulative = 0;
  for (const size_t i : order) {
    if (cumulative >= mass) scores[i] = kNever;
    cumulative += p[i];
  }
}

std::map<int32_t, double> expected_distribution(const std::vector<float>& logits,
                                                const SamplingParams& params,
                                                const SamplingHistory& history = {}) {
  Scores scores(logits.begin(), logits.end());
  penalize(scores, params, history);
  for (double& s : scores) s /= params.temperature;
  if (params.top_n_sigma > 0) top_n_sigma(scores, params.top_n_sigma);
  if (params.top_k > 0) top_k(scores, static_cast<size_t>(params.top_k));
  if (params.top_p < 1) top_p(scores, params.top_p);
  if (params.min_p > 0) min_p(scores, params.min_p);
  if (params.typical_p < 1) typical_p(scores, params.typical_p);
  const Scores p = softmax(scores);
  std::map<int32_t, double> out;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) out[static_cast<int32_t>(i)] = p[i];
  }
  return out;
}

void expect_distribution(std::span<const Candidate> got,
                         const std::map<int32_t, double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  double total = 0;
  for (const Candidate& candidate : got) total += candidate.weight;
  auto wanted = expected.begin();
  for (const Candidate& candidate : got) {
    ASSERT_EQ(candidate.token, wanted->first);
    // The logits are float32 again after penalties.
    ASSERT_NEAR(candidate.weight / total, wanted->second, 1e-5 * wanted->second);
    ++wanted;
  }
}

// Everything off: the model's own distribution.
SamplingParams plain() {
  SamplingParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  return params;
}

using Change = std::function<void(SamplingParams&)>;

const std::map<std::string, Change> kChanges = {
    {"nothing", [](SamplingParams&) {}},
    {"cold", [](SamplingParams& p) { p.temperature = 0.6; }},
    {"hot", [](SamplingParams& p) { p.temperature = 30; }},
    {"top_k 1", [](SamplingParams& p) { p.top_k = 1; }},
    {"top_k", [](SamplingParams& p) { p.top_k = 37; }},
    {"large top_k", [](SamplingParams& p) { p.top_k = 1500; }},
    {"top_p", [](SamplingParams& p) { p.top_p = 0.9; }},
    {"small top_p", [](SamplingParams& p) { p.top_p = 1e-9; }},
    {"top_p near 1", [](SamplingParams& p) { p.top_p = 0.999999; }},
    {"min_p", [](SamplingParams& p) { p.min_p = 0.02; }},
    {"min_p 1", [](SamplingParams& p) { p.min_p = 1; }},
    {"top_p, min_p",
     [](SamplingParams& p) {
       p.top_p = 0.9;
       p.min_p = 0.05;
     }},
    {"min_p, top_p",
     [](SamplingParams& p) {
       p.top_p = 0.99;
       p.min_p = 0.3;
     }},
    {"typical_p", [](SamplingParams& p) { p.typical_p = 0.3; }},
    {"typical_p of few",
     [](SamplingParams& p) {
       p.typical_p = 0.7;
       p.top_k = 50;
     }},
    {"top_n_sigma", [](SamplingParams& p) { p.top_n_sigma = 1.2; }},
    {"top_n_sigma, hot",
     [](SamplingParams& p) {
       p.top_n_sigma = 1;
       p.temperature = 3;
     }},
    {"repetition", [](SamplingParams& p) { p.repetition_penalty = 1.7; }},
    {"repetition wanted", [](SamplingParams& p) { p.repetition_penalty = 0.6; }},
    {"frequency", [](SamplingParams& p) { p.frequency_penalty = 0.7; }},
    {"presence", [](SamplingParams& p) { p.presence_penalty = -1.5; }},
    {"window",
     [](SamplingParams& p) {
       p.repetition_penalty = 1.5;
       p.frequency_penalty = 1;
       p.penalty_window = 30;
     }},
    {"window in the answer",
     [](SamplingParams& p) {
       p.repetition_penalty = 1.5;
       p.presence_penalty = 1;
       p.penalty_window = 7;
     }},
    {"no window",
     [](SamplingParams& p) {
       p.repetition_penalty = 1.5;
       p.penalty_window = 0;
     }},
    {"bias",
     [](SamplingParams& p) {
       p.logit_bias = {{3, 4.5}, {700, -100}, {9, kNever}, {0, 0.25}};
     }},
    {"bias, sigma",
     [](SamplingParams& p) {
       p.logit_bias = {{1, kNever}, {2, kNever}};
       p.top_n_sigma = 0.9;
     }},
    {"all",
     [](SamplingParams& p) {
       p.logit_bias = {{5, 6}, {6, kNever}};
       p.repetition_penalty = 1.2;
       p.frequency_penalty = 0.4;
       p.presence_penalty = 0.3;
       p.temperature = 1.4;
       p.top_n_sigma = 1.5;
       p.top_k = 300;
       p.top_p = 0.97;
       p.min_p = 0.02;
       p.typical_p = 0.8;
     }},
};

// Fifty tokens, twenty of them the prompt's, with repetitions.
std::vector<int32_t> some_history() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 50; ++i) tokens.push_back(i % 7 == 0 ? 3 : i * i % 41);
  return tokens;
}

TEST(Sampler, KeepsWhatTheDefinitionsKeep) {
  const std::vector<int32_t> tokens = some_history();
  const SamplingHistory history{tokens, 20};
  Sampler sampler;
  for (const auto& [name, change] : kChanges) {
    for (const size_t count : {41u, 1000u, 2048u, 5003u}) {
      SCOPED_TRACE(name + ", " + std::to_string(count) + " tokens");
      SamplingParams params = plain();
      change(params);
      std::erase_if(params.logit_bias,
                    [&](const LogitBias& b) { return b.token >= static_cast<int32_t>(count); });
      std::vector<float> logits = random_logits(count, static_cast<uint32_t>(count));
      for (size_t i = 11; i < count; i += 17) logits[i] = static_cast<float>(kNever);
      validate(params);
      expect_distribution(sampler.distribution(logits, params, history),
                          expected_distribution(logits, params, history));
    }
  }
}

TEST(Sampler, GivesTiesToTheLowestId) {
  // Five values only: every cut falls between equal logits.
  std::vector<float> logits(3000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * i % 5);
  Sampler sampler;
  for (const char* name :
       {"top_k 1", "top_k", "large top_k", "top_p", "small top_p", "top_p, min_p", "typical_p"}) {
    SCOPED_TRACE(name);
    SamplingParams params = plain();
    kChanges.at(name)(params);
    expect_distribution(sampler.distribution(logits, params, {}),
                        expected_distribution(logits, params));
  }
}

TEST(Sampler, TakesLogitsInAnyOrder) {
  Sampler sampler;
  for (const char* name : {"top_k", "large top_k", "top_p"}) {
    SCOPED_TRACE(name);
    SamplingParams params = plain();
    kChanges.at(name)(params);
    std::vector<float> logits = random_logits(9000, 5);
    std::sort(logits.begin(), logits.end());
    expect_distribution(sampler.distribution(logits, params, {}),
                        expected_distribution(logits, params));
    std::reverse(logits.begin(), logits.end());
    expect_distribution(sampler.distribution(logits, params, {}),
                        expected_distribution(logits, params));
    logits[4000] = 1e30f;  // all others in one bin
    expect_distribution(sampler.distribution(logits, params, {}),
                        expected_distribution(logits, params));
  }
}

TEST(Sampler, DrawsFollowTheDistribution) {
  const std::vector<float> logits = random_logits(50, 1);
  Sampler sampler;
  uint64_t seed = 3;
  for (const char* name :
       {"nothing", "cold", "top_k", "top_p", "min_p", "typical_p", "top_n_sigma"}) {
    SCOPED_TRACE(name);
    SamplingParams params = plain();
    kChanges.at(name)(params);
    params.seed = seed++;
    const std::map<int32_t, double> expected = expected_distribution(logits, params);
    ASSERT_GT(expected.size(), 2u);
    constexpr int kDraws = 20000;
    std::map<int32_t, int> seen;
    std::vector<int32_t> position;
    for (int i = 0; i < kDraws; ++i) {
      position.resize(static_cast<size_t>(i));
      ++seen[sampler.sample(logits, params, {position, 0})];
    }
    for (const auto& [id, count] : seen) ASSERT_TRUE(expected.contains(id)) << id;
    double chi_square = 0;
    for (const auto& [id, p] : expected) {
      const double deviation = seen[id] - kDraws * p;
      chi_square += deviation * deviation / (kDraws * p);
    }
    // 99.99% quantile, Wilson and Hilferty's approximation.
    const auto degrees = static_cast<double>(expected.size()) - 1;
    const double cube = 1 - 2 / (9 * degrees) + 3.72 * std::sqrt(2 / (9 * degrees));
    EXPECT_LT(chi_square, degrees * cube * cube * cube);
  }
}

TEST(Sampler, GreedyTakesTheLowestIdOfTheLikeliest) {
  Sampler sampler;
  const std::vector<float> logits = {1, 5, 2, 5, 5};
  SamplingParams params;
  params.temperature = 0;
  EXPECT_EQ(sampler.sample(logits, params, {}), 1);
  params.logit_bias = {{1, -0.5}};
  EXPECT_EQ(sampler.sample(logits, params, {}), 3);
  params.presence_penalty = 0.1;
  const std::vector<int32_t> tokens = {4, 3};
  EXPECT_EQ(sampler.sample(logits, params, {tokens, 1}), 4);  // 4 stands in the prompt only
  params.repetition_penalty = 1.2;
  EXPECT_EQ(sampler.sample(logits, params, {tokens, 1}), 1);  // 5 / 1.2 < 4.5
  SamplingParams one = plain();
  one.top_k = 1;
  EXPECT_EQ(sampler.sample(logits, one, {}), 1);
}

TEST(Sampler, DependsOnSeedChoiceAndPositionOnly) {
  const std::vector<float> logits = random_logits(1000, 2);
  Sampler sampler;
  Sampler other;
  SamplingParams params = plain();
  params.seed = 11;
  params.frequency_penalty = 0.5;
  std::vector<int32_t> tokens = {7};
  std::set<int32_t> different;
  std::set<int32_t> choices;
  for (int position = 0; position < 50; ++position) {
    const int32_t token = sampler.sample(logits, params, {tokens, 1}, 2);
    other.log_probabilities(logits, token, 3);
    EXPECT_EQ(token, other.sample(logits, params, {tokens, 1}, 2));
    different.insert(token);
    choices.insert(sampler.sample(logits, params, {{}, 0}, static_cast<uint32_t>(position)));
    tokens.push_back(token);
  }
  EXPECT_GT(different.size(), 20u);
  EXPECT_GT(choices.size(), 20u);
}

TEST(Sampler, LogProbabilitiesAreTheLogSoftmaxOfTheLogits) {
  std::vector<float> logits = random_logits(5000, 9);
  logits[8] = static_cast<float>(kNever);
  logits[70] = logits[60] = 9.5f;
  Scores expected = softmax(Scores(logits.begin(), logits.end()));
  for (double& p : expected) p = std::log(p);
  Scores negative;
  for (const double p : expected) negative.push_back(-p);
  const std::vector<size_t> order = argsort(negative);
  Sampler sampler;
  for (const int32_t count : {0, 1, 20}) {
    const LogProbabilities got = sampler.log_probabilities(logits, 123, count);
    EXPECT_NEAR(got.chosen, expected[123], 1e-12);
    ASSERT_EQ(got.likeliest.size(), static_cast<size_t>(count));
    for (size_t i = 0; i < got.likeliest.size(); ++i) {
      EXPECT_EQ(got.likeliest[i].token, static_cast<int32_t>(order[i]));
      EXPECT_NEAR(got.likeliest[i].log_probability, expected[order[i]], 1e-12);
    }
  }
  const std::vector<float> two = {static_cast<float>(kNever), 1, static_cast<float>(kNever), 3};
  EXPECT_EQ(sampler.log_probabilities(two, 3, 20).likeliest.size(), 2u);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Sampler, RefusesLogitsThatLeaveNoToken) {
  Sampler sampler;
  const auto never = static_cast<float>(kNever);
  const auto infinite = std::numeric_limits<float>::infinity();
  const auto sample = [&](const std::vector<float>& logits, const SamplingParams& params) {
    return message_of([&] { sampler.sample(logits, params, {}); });
  };
  SamplingParams bans;
  bans.logit_bias = {{0, kNever}, {1, kNever}};
  for (const double temperature : {0.0, 1.0}) {
    SamplingParams params;
    params.temperature = bans.temperature = temperature;
    EXPECT_EQ(sample({1, NAN}, params).substr(0, 28), "the logit of token 1 is nan:");
    EXPECT_EQ(sample({infinite, 1}, params).substr(0, 28), "the logit of token 0 is inf:");
    EXPECT_EQ(sample(std::vector<float>(600, NAN), params).substr(0, 28),
              "the logit of token 0 is nan:");
    EXPECT_EQ(sample({never, never}, params).substr(0, 35), "the logits of all 2 tokens are -inf");
    EXPECT_EQ(sample({never, never}, bans).substr(0, 35), "the logits of all 2 tokens are -inf");
    EXPECT_EQ(sample({1, never}, bans), "logit_bias: no token is left");
    EXPECT_EQ(sample({never, 1, never}, params), "");
  }
}

TEST(SamplingParams, NamesTheFieldThatIsWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const auto field = [](const Change& change) {
    SamplingParams params;
    change(params);
    const std::string message = message_of([&] { validate(params); });
    return message.substr(0, message.find(':'));
  };
  EXPECT_EQ(field([](SamplingParams&) {}), "");
  const auto refuses = [&](const std::string& name, double SamplingParams::*member,
                           std::vector<double> wrong, std::vector<double> right) {
    wrong.insert(wrong.end(), {nan, infinite, -infinite});
    for (const double value : wrong)
      EXPECT_EQ(field([&](SamplingParams& p) { p.*member = value; }), name) << value;
    for (const double value : right)
      EXPECT_EQ(field([&](SamplingParams& p) { p.*member = value; }), "") << name << value;
  };
  refuses("temperature", &SamplingParams::temperature, {-1, 101}, {0, 1e-300, 100});
  refuses("top_p", &SamplingParams::top_p, {0, -0.5, 1.01}, {1e-300, 1});
  refuses("min_p", &SamplingParams::min_p, {-0.1, 1.5}, {0, 1});
  refuses("typical_p", &SamplingParams::typical_p, {0, 1.01}, {1e-300, 1});
  refuses("top_n_sigma", &SamplingParams::top_n_sigma, {-1, 101}, {0, 100});
  refuses("repetition_penalty", &SamplingParams::repetition_penalty, {0, -1, 0.001, 101},
          {0.01, 100});
  refuses("frequency_penalty", &SamplingParams::frequency_penalty, {-2.1, 2.1}, {-2, 2});
  refuses("presence_penalty", &SamplingParams::presence_penalty, {-2.1, 2.1}, {-2, 2});
  EXPECT_EQ(field([](SamplingParams& p) { p.top_k = -1; }), "top_k");
  EXPECT_EQ(field([](SamplingParams& p) { p.penalty_window = -2; }), "penalty_window");
  for (const double bias : {nan, infinite, 101.0, -101.0}) {
    EXPECT_EQ(field([&](SamplingParams& p) { p.logit_bias = {{1, bias}}; }), "logit_bias") << bias;
  }
  EXPECT_EQ(field([](SamplingParams& p) { p.logit_bias = {{-1, 0}}; }), "logit_bias");
  EXPECT_EQ(field([](SamplingParams& p) {
              p.logit_bias = {{1, 0}, {2, 0}, {1, 5}};
            }),
            "logit_bias");
  EXPECT_EQ(field([](SamplingParams& p) { p.logit_bias.resize(kMaxLogitBiases + 1); }),
            "logit_bias");
  SamplingParams params;
  params.logit_bias = {{10, 1}};
  EXPECT_EQ(message_of([&] { validate_tokens(params, 11); }), "");
  EXPECT_EQ(message_of([&] { validate_tokens(params, 10); }),
            "logit_bias: token id 10 is not from 0 to 9");
}

// The extremes that pass validation draw something.
TEST(Sampler, TakesExtremeParameters) {
  const std::vector<float> logits = {-3e38f, 3e38f, 0, 1, -1e-40f};
  Sampler sampler;
  for (const double temperature : {std::numeric_limits<double>::denorm_min(), 1e-300, 100.0}) {
    SamplingParams params = plain();
    params.temperature = temperature;
    params.top_k = std::numeric_limits<int32_t>::max();
    params.top_p = params.typical_p = 1 - 1e-16;
    params.min_p = std::numeric_limits<double>::denorm_min();
    params.top_n_sigma = 100;
    EXPECT_EQ(sampler.sample(logits, params, {}), 1);
  }
}

}  // namespace
}  // namespace adze::engine
