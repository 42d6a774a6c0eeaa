#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

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

// The distribution straight from the definition, by sorting everything.
std::map<int32_t, double> expected_distribution(const std::vector<float>& logits,
                                                const SamplingParams& params) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < order.size()) {
    order.resize(static_cast<size_t>(params.top_k));
  }
  const auto normalized = [&] {
    std::vector<double> p;
    for (const int32_t id : order) {
      p.push_back(std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) -
                            logits[static_cast<size_t>(order[0])]) /
                           params.temperature));
    }
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& v : p) v /= sum;
    return p;
  };
  std::vector<double> p = normalized();
  size_t kept = 0;
  for (double sum = 0; kept < p.size() && sum < params.top_p; ++kept) sum += p[kept];
  order.resize(std::max<size_t>(kept, 1));
  p = normalized();
  kept = 0;
  while (kept < p.size() && p[kept] >= params.min_p * p[0]) ++kept;
  order.resize(std::max<size_t>(kept, 1));
  p = normalized();
  std::map<int32_t, double> out;
  for (size_t i = 0; i < order.size(); ++i) out[order[i]] = p[i];
  return out;
}

TEST(Sample, FollowsTheDistribution) {
  const std::vector<float> logits = random_logits(50, 1);
  std::vector<int32_t> scratch;
  for (const SamplingParams& params :
       {SamplingParams{1.0, 0, 1.0, 0.0, 3}, SamplingParams{0.7, 10, 1.0, 0.0, 4},
        SamplingParams{1.3, 0, 0.8, 0.0, 5}, SamplingParams{1.0, 0, 1.0, 0.2, 6},
        SamplingParams{0.9, 20, 0.9, 0.1, 7}}) {
    const std::map<int32_t, double> expected = expected_distribution(logits, params);
    constexpr int kDraws = 20000;
    std::map<int32_t, int> seen;
    for (int i = 0; i < kDraws; ++i) {
      ++seen[sample_token(logits, params, 0, static_cast<uint64_t>(i), scratch)];
    }
    double chi_square = 0;
    for (const auto& [id, count] : seen) ASSERT_TRUE(expected.contains(id)) << id;
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

TEST(Sample, GreedyTakesTheLowestIdOfTheLikeliest) {
  std::vector<int32_t> scratch;
  const std::vector<float> logits = {1, 5, 2, 5, 5};
  EXPECT_EQ(sample_token(logits, {0.0, 0, 1, 0, 9}, 0, 3, scratch), 1);
  EXPECT_EQ(sample_token(logits, {1.0, 1, 1, 0, 9}, 0, 3, scratch), 1);
}

TEST(Sample, DependsOnSeedChoiceAndPositionOnly) {
  const std::vector<float> logits = random_logits(1000, 2);
  std::vector<int32_t> scratch;
  std::vector<int32_t> other = {4, 5, 6};
  std::set<int32_t> different;
  for (uint64_t position = 0; position < 50; ++position) {
    const SamplingParams params{1.0, 0, 1.0, 0.0, 11};
    const int32_t token = sample_token(logits, params, 2, position, scratch);
    EXPECT_EQ(token, sample_token(logits, params, 2, position, other));
    different.insert(token);
  }
  EXPECT_GT(different.size(), 20u);
}

TEST(SamplingParams, NamesTheFieldThatIsWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto message = [](const SamplingParams& params) -> std::string {
    try {
      params.validate();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({nan, 0, 1, 0, 0}).substr(0, 11), "temperature");
  EXPECT_EQ(message({-1, 0, 1, 0, 0}).substr(0, 11), "temperature");
  EXPECT_EQ(message({1, -1, 1, 0, 0}).substr(0, 5), "top_k");
  EXPECT_EQ(message({1, 0, 0, 0, 0}).substr(0, 5), "top_p");
  EXPECT_EQ(message({1, 0, nan, 0, 0}).substr(0, 5), "top_p");
  EXPECT_EQ(message({1, 0, 1, 1.5, 0}).substr(0, 5), "min_p");
  std::vector<int32_t> scratch;
  EXPECT_THROW(sample_token(std::vector<float>{1, NAN}, {}, 0, 0, scratch), Error);
}

}  // namespace
}  // namespace adze::engine
