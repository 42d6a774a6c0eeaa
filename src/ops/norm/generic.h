// RMSNorm over 16 lanes; see rms_norm.h for the order of operations. Include it in one source file
// per instruction set only.
#pragma once

#include <cstddef>

#include "ops/norm/rms_norm_kernels.h"

namespace adze::ops {
namespace {

constexpr size_t kLanes = 16;

// The last, partial vector of a row, filled up with zeros.
struct Tail {
  float x[kLanes] = {};
  float weight[kLanes] = {};
};

template <class V>
void rms_norm(const float* x, const float* weight, int columns, float epsilon, float weight_offset,
              float* out) {
  using F = typename V::F;
  const size_t n = static_cast<size_t>(columns);
  const size_t whole = n / kLanes * kLanes;
  Tail tail;
  for (size_t i = whole; i < n; ++i) {
    tail.x[i - whole] = x[i];
    tail.weight[i - whole] = weight[i];
  }
  F sum = V::zero();
  for (size_t i = 0; i < whole; i += kLanes) {
    const F v = V::load(x + i);
    sum = V::fma(v, v, sum);
  }
  const F last = V::load(tail.x);
  sum = V::fma(last, last, sum);
  const float mean = V::sum_of(sum) / static_cast<float>(columns);
  const F inverse = V::broadcast(1.0f / __builtin_sqrtf(mean + epsilon));
  const F offset = V::broadcast(weight_offset);
  const auto scaled = [&](const float* from, const float* factors) {
    return V::mul(V::mul(V::load(from), inverse), V::add(V::load(factors), offset));
  };
  for (size_t i = 0; i < whole; i += kLanes) V::store(out + i, scaled(x + i, weight + i));
  V::store(tail.x, scaled(tail.x, tail.weight));
  for (size_t i = whole; i < n; ++i) out[i] = tail.x[i - whole];
}

}  // namespace
}  // namespace adze::ops

#define ADZE_DEFINE_RMS_NORM_KERNEL(kernel, isa, lanes) \
  extern const RmsNormKernel kernel;                    \
  const RmsNormKernel kernel = {#kernel, Isa::isa, rms_norm<lanes>}
