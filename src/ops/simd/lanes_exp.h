// The exponential of a number ≤ 0 over 16 lanes: reduction by multiples of ln 2 and the Cephes
// library's polynomial for expf (S. Moshier, 1989), relative error below 2e-7; exp(0) is 1 exactly,
// and below −87 (−∞ included) the result is 0.
#pragma once

#include <cstdint>

namespace adze::ops {
namespace {

constexpr float kExpLowest = -87.0f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f;
constexpr float kLn2Low = -2.12194440e-4f;
constexpr float kExpPolynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                    4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

template <class V>
typename V::F exp(typename V::F x) {
  using F = typename V::F;
  const F clamped = V::max(x, V::broadcast(kExpLowest));
  const typename V::I n = V::round(V::mul(clamped, V::broadcast(kLog2E)));
  const F whole = V::to_float(n);
  const F r =
      V::fma(whole, V::broadcast(-kLn2Low), V::fma(whole, V::broadcast(-kLn2High), clamped));
  F p = V::broadcast(kExpPolynomial[0]);
  for (int i = 1; i < 6; ++i) p = V::fma(p, r, V::broadcast(kExpPolynomial[i]));
  p = V::add(V::fma(p, V::mul(r, r), r), V::broadcast(1.0f));
  const F power = V::as_float(V::template shift_left<23>(V::add_int(n, V::broadcast_int(127))));
  return V::where_at_least(x, V::broadcast(kExpLowest), V::mul(p, power));
}

}  // namespace
}  // namespace adze::ops
