// The norms, written once over the lanes of ops/simd.
#pragma once

#include <cstdint>

#include "ops/norm/norm.h"

namespace adze::ops::generic {

template <class V>
void rms_norm(const float* x, const float* weight, float epsilon, int64_t n, float* out) {
  const int64_t whole = n / 16 * 16;
  typename V::F squares = V::zero();
  for (int64_t i = 0; i < whole; i += 16) {
    const typename V::F v = V::load(x + i);
    squares = V::fma(v, v, squares);
  }
  alignas(64) float tail[16] = {};
  if (whole < n) {
    for (int64_t i = whole; i < n; ++i) tail[i - whole] = x[i];
    const typename V::F v = V::load(tail);
    squares = V::fma(v, v, squares);
  }
  const float mean = V::sum(squares) / static_cast<float>(n);
  const float factor = 1.0f / __builtin_sqrtf(mean + epsilon);
  const typename V::F scale = V::broadcast(factor);
  for (int64_t i = 0; i < whole; i += 16) {
    V::store(out + i, V::mul(V::mul(V::load(x + i), scale), V::load(weight + i)));
  }
  for (int64_t i = whole; i < n; ++i) out[i] = tail[i - whole] * factor * weight[i];
}

}  // namespace adze::ops::generic
