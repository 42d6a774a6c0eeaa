// RoPE against rotation of complex numbers in double precision, and against the properties its
// paper proves.
#include "ops/rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

namespace adze::ops {
namespace {

std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> x(n);
  for (float& v : x) v = distribution(random);
  return x;
}

std::vector<float> row_of(const Rope& rope, int32_t position) {
  std::vector<float> row(static_cast<size_t>(rope.rotary_dim()));
  rope.fill(position, row.data());
  return row;
}

TEST(Rope, TurnsPairsLikeComplexNumbers) {
  for (const int rotary_dim : {2, 32, 64}) {
    const Rope rope(rotary_dim, 100000.0);
    for (const int32_t position : {0, 1, 511, 131071}) {
      const std::vector<float> x = normal(3 * 64, 1);
      std::vector<float> out(x.size());
      rotate(row_of(rope, position), x.data(), 3, 64, out.data());
      const size_t pairs = static_cast<size_t>(rotary_dim / 2);
      for (size_t head = 0; head < 3; ++head) {
        for (size_t i = 0; i < pairs; ++i) {
          const double angle = position * std::exp(-std::log(100000.0) * static_cast<double>(i) /
                                                   static_cast<double>(pairs));
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
  const Rope rope(64, 10000.0);
  const std::vector<float> q = normal(64, 2), k = normal(64, 3);
  const auto dot = [&](int32_t query_position, int32_t key_position) {
    std::vector<float> a(64), b(64);
    rotate(row_of(rope, query_position), q.data(), 1, 64, a.data());
    rotate(row_of(rope, key_position), k.data(), 1, 64, b.data());
    double sum = 0;
    for (size_t d = 0; d < 64; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
    return sum;
  };
  EXPECT_NEAR(dot(17, 5), dot(1017, 1005), 1e-4);
  EXPECT_NEAR(dot(3, 3), dot(0, 0), 1e-4);
  EXPECT_GT(std::fabs(dot(17, 5) - dot(18, 5)), 1e-3);
}

TEST(Rope, FactorsDivideFrequenciesAndMagnitudeScales) {
  const std::vector<float> factors(32, 8.0f);
  const Rope scaled(64, 10000.0, factors, 1.25);
  const Rope plain(64, 10000.0);
  const std::vector<float> a = row_of(scaled, 800), b = row_of(plain, 100);
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(a[i], 1.25 * static_cast<double>(b[i]), 1e-6);
}

TEST(Rope, InPlaceEqualsOutOfPlace) {
  const Rope rope(48, 10000.0);
  const std::vector<float> row = row_of(rope, 77);
  std::vector<float> x = normal(2 * 64, 4), out(x.size());
  rotate(row, x.data(), 2, 64, out.data());
  rotate(row, x.data(), 2, 64, x.data());
  EXPECT_EQ(std::memcmp(x.data(), out.data(), x.size() * sizeof(float)), 0);
}

TEST(Rope, FusedWriteEqualsRotateThenWrite) {
  const CacheLayout layout(2, 64, DType::kBF16);
  const Rope rope(64, 10000.0);
  const std::vector<float> row = row_of(rope, 40);
  const std::vector<float> keys = normal(128, 5), values = normal(128, 6);
  alignas(64) static std::byte fused[16384], apart[16384];
  ASSERT_EQ(layout.block_bytes(), sizeof(fused));
  std::vector<float> scratch(128), rotated(128);
  rotate_write_kv(row, layout, fused, 8, keys.data(), values.data(), scratch.data());
  rotate(row, keys.data(), 2, 64, rotated.data());
  write_kv(layout, apart, 8, rotated.data(), values.data());
  EXPECT_EQ(std::memcmp(fused, apart, sizeof(fused)), 0);
}

}  // namespace
}  // namespace adze::ops
