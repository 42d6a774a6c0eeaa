// Elementwise operations, written once over the lanes of ops/simd.
#pragma once

#include <cstdint>

#include "ops/elementwise/elementwise.h"
#include "ops/simd/exp.h"

namespace adze::ops::generic {

// out[i] = op(a[i], b[i]); what is left after whole lanes is padded with zeros.
template <class V, class Op>
inline void for_lanes(const float* a, const float* b, int64_t count, float* out, Op op) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) V::store(out + i, op(V::load(a + i), V::load(b + i)));
  if (i == count) return;
  alignas(64) float tail[2][16] = {};
  for (int64_t t = 0; t < count - i; ++t) {
    tail[0][t] = a[i + t];
    tail[1][t] = b[i + t];
  }
  V::store(tail[0], op(V::load(tail[0]), V::load(tail[1])));
  for (int64_t t = 0; t < count - i; ++t) out[i + t] = tail[0][t];
}

template <class V>
struct Elementwise {
  using F = typename V::F;

  static void add(const float* a, const float* b, int64_t count, float* out) {
    for_lanes<V>(a, b, count, out, [](F x, F y) { return V::add(x, y); });
  }
  static void multiply(const float* a, const float* b, int64_t count, float* out) {
    for_lanes<V>(a, b, count, out, [](F x, F y) { return V::mul(x, y); });
  }
  static void add_scalar(const float* a, float b, int64_t count, float* out) {
    const F y = V::broadcast(b);
    for_lanes<V>(a, a, count, out, [y](F x, F) { return V::add(x, y); });
  }
  static void multiply_scalar(const float* a, float b, int64_t count, float* out) {
    const F y = V::broadcast(b);
    for_lanes<V>(a, a, count, out, [y](F x, F) { return V::mul(x, y); });
  }
  static void silu(const float* x, int64_t count, float* out) {
    for_lanes<V>(x, x, count, out, [](F v, F) { return simd::silu<V>(v); });
  }
  static void gelu_tanh(const float* x, int64_t count, float* out) {
    for_lanes<V>(x, x, count, out, [](F v, F) { return simd::gelu_tanh<V>(v); });
  }
  static void silu_multiply(const float* gate, const float* up, int64_t count, float* out) {
    for_lanes<V>(gate, up, count, out, [](F x, F y) { return V::mul(simd::silu<V>(x), y); });
  }

  static void gelu_tanh_multiply(const float* gate, const float* up, int64_t count, float* out) {
    for_lanes<V>(gate, up, count, out, [](F x, F y) { return V::mul(simd::gelu_tanh<V>(x), y); });
  }

  static constexpr ElementwiseKernels kKernels = {
      add,  multiply,  add_scalar,    multiply_scalar,
      silu, gelu_tanh, silu_multiply, gelu_tanh_multiply};
};

}  // namespace adze::ops::generic
