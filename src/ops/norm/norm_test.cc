#include "ops/norm/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/runnable_kernels.h"

namespace adze::ops {

extern const NormKernels kNormEmulated;  // the AVX-512 kernels through SIMDe

namespace {

TEST(RmsNorm, FollowsItsDefinitionAndIsTheSameEverywhere) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  // Many sizes: one rounding that differs in a lane may vanish in the root and the division.
  for (int64_t n = 1; n < 1100; n += n < 64 ? 1 : 37) {
    std::vector<float> x(static_cast<size_t>(n));
    std::vector<float> w(x.size());
    for (float& v : x) v = normal(random);
    for (float& v : w) v = normal(random);
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5f);
    std::vector<float> expected(x.size());
    kNormReference.rms_norm(x.data(), w.data(), 1e-5f, n, expected.data());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(expected[i], x[i] * factor * w[i], 5e-7 * std::fabs(x[i] * factor * w[i]));
    }
    for (const auto& k : runnable_kernels(norm_kernel_tables(), kNormEmulated)) {
      std::vector<float> out(x.size());
      k.kernels->rms_norm(x.data(), w.data(), 1e-5f, n, out.data());
      EXPECT_EQ(out, expected) << k.name << ", " << n;
    }
  }
}

}  // namespace
}  // namespace adze::ops
