// Elementary functions over lanes, the same operations in the same order for every instruction set.
#pragma once

namespace adze::simd {

// e^x with a relative error below 2·10⁻⁷; x is clamped to [−87, 88], NaN stays NaN. Range reduction
// by ln 2 in two parts, then a polynomial of degree 6 on [−ln2/2, ln2/2] (Taylor coefficients; the
// truncation error there is below 1.2·10⁻⁸ · e^x).
template <class V>
inline typename V::F exp(typename V::F x) {
  using F = typename V::F;
  const F clamped = V::max(V::broadcast(-87.0f), V::min(V::broadcast(88.0f), x));
  const F n = V::round(V::mul(clamped, V::broadcast(1.44269504f)));
  F r = V::fma(n, V::broadcast(-0.693359375f), clamped);
  r = V::fma(n, V::broadcast(2.12194440e-4f), r);
  F p = V::broadcast(1.0f / 5040.0f);
  p = V::fma(p, r, V::broadcast(1.0f / 720.0f));
  p = V::fma(p, r, V::broadcast(1.0f / 120.0f));
  p = V::fma(p, r, V::broadcast(1.0f / 24.0f));
  p = V::fma(p, r, V::broadcast(1.0f / 6.0f));
  p = V::fma(p, r, V::broadcast(0.5f));
  p = V::fma(p, r, V::broadcast(1.0f));
  p = V::fma(p, r, V::broadcast(1.0f));
  return V::mul(p, V::exp2i(n));
}

// x · sigmoid(x).
template <class V>
inline typename V::F silu(typename V::F x) {
  const typename V::F one = V::broadcast(1.0f);
  return V::div(x, V::add(one, exp<V>(V::sub(V::zero(), x))));
}

// x · Φ(x) by its usual approximation, 0.5 · x · (1 + tanh u) with u = √(2/π) · (x + 0.044715 · x³)
// (Hendrycks and Gimpel, 2016). That is x · sigmoid(2u).
template <class V>
inline typename V::F gelu_tanh(typename V::F x) {
  using F = typename V::F;
  const F one = V::broadcast(1.0f);
  const F cubic = V::fma(V::mul(V::broadcast(0.044715f), V::mul(x, x)), x, x);
  return V::div(x, V::add(one, exp<V>(V::mul(cubic, V::broadcast(-1.59576912f)))));
}

}  // namespace adze::simd
