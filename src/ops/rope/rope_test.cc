// RoPE against rotation of complex numbers in double precision, and against what its paper proves.
#include "ops/rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "ops/runnable_kernels.h"

namespace adze::ops {

extern const RopeKernels kRopeEmulated;  // the AVX-512 kernels through SIMDe

namespace {

std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> x(n);
  for (float& v : x) v = distribution(random);
  return x;
}

std::vector<float> row_of(const RopeFrequencies& rope, int64_t position) {
  std::vector<float> row(static_cast<size_t>(rope.rotary_dim()));
  rope.fill(position, row.data());
  return row;
}

TEST(Rope, TurnsPairsLikeComplexNumbers) {
  for (const int32_t rotary_dim : {2, 32, 64}) {
    const RopeFrequencies rope({.rotary_dim = rotary_dim, .theta = 100000.0});
    ASSERT_EQ(rope.rotary_dim(), rotary_dim);
    for (const int64_t position : {0, 1, 511, 131071}) {
      const std::vector<float> x = normal(3 * 64, 1);
      std::vector<float> out(x.size());
      kRopeReference.rotate(row_of(rope, position).data(), rotary_dim, 64, 3, x.data(), out.data());
      const auto pairs = static_cast<size_t>(rotary_dim / 2);
      for (size_t head = 0; head < 3; ++head) {
        for (size_t i = 0; i < pairs; ++i) {
          const double turns = -std::log(100000.0) * static_cast<double>(i);
          const double angle =
              static_cast<double>(position) * std::exp(turns / static_cast<double>(pairs));
          const std::complex<double> turned =
              std::complex<double>(x[head * 64 + i], x[head * 64 + pairs + i]) *
              std::polar(1.0, angle);
          EXPECT_NEAR(out[head * 64 + i], turned.real(), 1e-6);
          EXPECT_NEAR(out[head * 64 + pairs + i], turned.imag(), 1e-6);
        }
        for (size_t d = 2 * pairs; d < 64; ++d) EXPECT_EQ(out[head * 64 + d], x[head * 64 + d]);
      }
    }
  }
}

// The dot product of a rotated query and key depends on the distance of their positions only.
TEST(Rope, DotProductsDependOnTheDistance) {
  const RopeFrequencies rope({.rotary_dim = 64, .theta = 10000.0});
  const std::vector<float> q = normal(64, 2);
  const std::vector<float> k = normal(64, 3);
  const auto dot = [&](int64_t query_position, int64_t key_position) {
    std::vector<float> a(64);
    std::vector<float> b(64);
    kRopeReference.rotate(row_of(rope, query_position).data(), 64, 64, 1, q.data(), a.data());
    kRopeReference.rotate(row_of(rope, key_position).data(), 64, 64, 1, k.data(), b.data());
    double sum = 0;
    for (size_t d = 0; d < 64; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
    return sum;
  };
  EXPECT_NEAR(dot(17, 5), dot(1017, 1005), 1e-4);
  EXPECT_NEAR(dot(3, 3), dot(0, 0), 1e-4);
  EXPECT_GT(std::fabs(dot(17, 5) - dot(18, 5)), 1e-3);
}

TEST(Rope, InPlaceEqualsOutOfPlace) {
  const RopeFrequencies rope({.rotary_dim = 48, .theta = 10000.0});
  const std::vector<float> row = row_of(rope, 77);
  std::vector<float> x = normal(2 * 64, 4);
  std::vector<float> out(x.size());
  kRopeReference.rotate(row.data(), 48, 64, 2, x.data(), out.data());
  kRopeReference.rotate(row.data(), 48, 64, 2, x.data(), x.data());
  EXPECT_EQ(x, out);
}

TEST(Rope, IsTheSameEverywhere) {
  for (const auto& k : runnable_kernels(rope_kernel_tables(), kRopeEmulated)) {
    for (const int32_t rotary_dim : {2, 24, 32, 64, 80}) {
      const std::vector<float> row =
          row_of(RopeFrequencies({.rotary_dim = rotary_dim, .theta = 10000.0}), 1234);
      const std::vector<float> x = normal(2 * 80, 5);
      std::vector<float> expected(x.size());
      kRopeReference.rotate(row.data(), rotary_dim, 80, 2, x.data(), expected.data());
      std::vector<float> out(x.size());
      k.kernels->rotate(row.data(), rotary_dim, 80, 2, x.data(), out.data());
      EXPECT_EQ(out, expected) << k.name << ", " << rotary_dim;
    }
  }
}

}  // namespace
}  // namespace adze::ops
