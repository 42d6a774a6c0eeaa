// RMSNorm against the formula in double precision, and instruction sets against each other.
#include "ops/norm/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "ops/norm/rms_norm_test_kernels.h"

namespace adze::ops {
namespace {

std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> x(n);
  for (float& v : x) v = distribution(random);
  return x;
}

TEST(RmsNorm, MatchesTheFormula) {
  for (const RmsNormKernel* kernel : rms_norm_kernels_to_test()) {
    for (int columns = 1; columns <= 600; columns += columns < 70 ? 1 : 53) {
      for (const float offset : {0.0f, 1.0f}) {
        for (const float epsilon : {1e-5f, 10.0f}) {
          const size_t n = static_cast<size_t>(columns);
          const std::vector<float> x = normal(n, 1), weight = normal(n, 2);
          std::vector<float> out(n + 1, 7.0f);
          kernel->run(x.data(), weight.data(), columns, epsilon, offset, out.data());
          double sum = 0;
          for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
          const double rms = std::sqrt(sum / columns + static_cast<double>(epsilon));
          for (size_t i = 0; i < n; ++i) {
            const double right =
                x[i] / rms * (static_cast<double>(weight[i]) + static_cast<double>(offset));
            ASSERT_NEAR(out[i], right, 5e-7 * (1 + std::fabs(right)))
                << kernel->name << " columns " << columns;
          }
          EXPECT_EQ(out[n], 7.0f);
        }
      }
    }
  }
}

TEST(RmsNorm, InPlaceAndInstructionSetsAgreeBitForBit) {
  const std::vector<const RmsNormKernel*> kernels = rms_norm_kernels_to_test();
  for (const int columns : {1, 15, 16, 17, 100, 576, 2048, 2051}) {
    const size_t n = static_cast<size_t>(columns);
    const std::vector<float> x = normal(n, 3), weight = normal(n, 4);
    std::vector<float> first(n);
    kernels[0]->run(x.data(), weight.data(), columns, 1e-5f, 0, first.data());
    for (const RmsNormKernel* kernel : kernels) {
      std::vector<float> out = x;
      kernel->run(out.data(), weight.data(), columns, 1e-5f, 0, out.data());
      EXPECT_EQ(std::memcmp(first.data(), out.data(), n * sizeof(float)), 0)
          << kernel->name << " columns " << columns;
    }
  }
}

}  // namespace
}  // namespace adze::ops
