// Elementwise operations against their definitions in double precision, and the same everywhere.
#include "ops/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "ops/runnable_kernels.h"

namespace adze::ops {

extern const ElementwiseKernels kElementwiseEmulated;  // the AVX-512 kernels through SIMDe

namespace {

struct Operation {
  std::function<void(const ElementwiseKernels&, const float* a, const float* b, int64_t, float*)>
      run;
  std::function<double(double a, double b)> exact;
};

constexpr float kScalar = 0.37f;

double silu(double x) { return x / (1 + std::exp(-x)); }

const std::vector<Operation>& operations() {
  using K = ElementwiseKernels;
  static const std::vector<Operation> kAll = {
      {[](const K& k, const float* a, const float* b, int64_t n, float* out) {
         k.add(a, b, n, out);
       },
       std::plus<double>()},
      {[](const K& k, const float* a, const float* b, int64_t n, float* out) {
         k.multiply(a, b, n, out);
       },
       std::multiplies<double>()},
      {[](const K& k, const float* a, const float*, int64_t n, float* out) {
         k.add_scalar(a, kScalar, n, out);
       },
       [](double a, double) { return a + kScalar; }},
      {[](const K& k, const float* a, const float*, int64_t n, float* out) {
         k.multiply_scalar(a, kScalar, n, out);
       },
       [](double a, double) { return a * kScalar; }},
      {[](const K& k, const float* a, const float*, int64_t n, float* out) { k.silu(a, n, out); },
       [](double a, double) { return silu(a); }},
      {[](const K& k, const float* a, const float* b, int64_t n, float* out) {
         k.silu_multiply(a, b, n, out);
       },
       [](double a, double b) { return silu(a) * b; }},
  };
  return kAll;
}

TEST(Elementwise, FollowsItsDefinitionAndIsTheSameEverywhere) {
  std::vector<float> a;
  std::vector<float> b;
  for (int i = -300; i <= 300; ++i) {
    a.push_back(static_cast<float>(i) / 3.0f);
    b.push_back(static_cast<float>((i * 37) % 101) / 7.0f);
  }
  for (size_t index = 0; index < operations().size(); ++index) {
    const Operation& operation = operations()[index];
    for (const int64_t count : {0, 1, 15, 16, 17, 601}) {
      std::vector<float> expected(static_cast<size_t>(count));
      operation.run(kElementwiseReference, a.data(), b.data(), count, expected.data());
      for (size_t i = 0; i < expected.size(); ++i) {
        const double exact = operation.exact(a[i], b[i]);
        EXPECT_NEAR(expected[i], exact, 4e-7 * std::fabs(exact) + 1e-33) << index;
      }
      for (const auto& k : runnable_kernels(elementwise_kernel_tables(), kElementwiseEmulated)) {
        std::vector<float> out(static_cast<size_t>(count) + 1, 5.0f);
        operation.run(*k.kernels, a.data(), b.data(), count, out.data());
        EXPECT_EQ(out.back(), 5.0f) << k.name;  // nothing past the end
        out.pop_back();
        EXPECT_EQ(out, expected) << k.name << ", operation " << index << ", " << count;
        std::vector<float> in_place(a.begin(), a.begin() + static_cast<ptrdiff_t>(count));
        operation.run(*k.kernels, in_place.data(), b.data(), count, in_place.data());
        EXPECT_EQ(in_place, expected) << k.name << ", operation " << index << " in place";
      }
    }
  }
}

// What lets the fused gate have the bits of its parts.
TEST(Elementwise, SiluMultiplyIsSiluThenMultiply) {
  std::vector<float> a;
  for (int i = -40; i < 60; ++i) a.push_back(static_cast<float>(i) * 0.173f);
  const auto count = static_cast<int64_t>(a.size());
  for (const auto& k : runnable_kernels(elementwise_kernel_tables(), kElementwiseEmulated)) {
    std::vector<float> parts(a.size());
    std::vector<float> fused(a.size());
    k.kernels->silu(a.data(), count, parts.data());
    k.kernels->multiply(parts.data(), a.data(), count, parts.data());
    k.kernels->silu_multiply(a.data(), a.data(), count, fused.data());
    EXPECT_EQ(parts, fused) << k.name;
  }
}

}  // namespace
}  // namespace adze::ops
