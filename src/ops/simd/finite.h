// What is not finite, where rows become integer codes: no code stands for it, so the row's scale is
// NaN, and everything computed from the row.
#pragma once

namespace adze::simd {

// The scale of such a row: one bit pattern on every instruction set.
inline constexpr float kNotFinite = __builtin_nanf("");

// Sees elements, sixteen at a time.
template <class V>
class FiniteCheck {
 public:
  void see(typename V::F x) { zeros_ = V::fma(x, V::zero(), zeros_); }
  bool all_finite() const { return V::sum(zeros_) == 0.0f; }

 private:
  typename V::F zeros_ = V::zero();  // NaN from the first element on that is not finite
};

}  // namespace adze::simd
