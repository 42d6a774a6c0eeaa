// What decides the scale of a row that becomes integer codes.
#pragma once

namespace adze::simd {

// The scale of a row that is not all finite: no code stands for infinity or NaN, so the scale is
// NaN and everything computed from the row. One bit pattern on every instruction set.
inline constexpr float kNotFinite = __builtin_nanf("");

// The least scale whose inverse is a number. A row whose scale would be below it counts as zero.
inline constexpr float kLeastScale = 0x1p-126f;

// Sees a row's elements, sixteen at a time: how large they are, and whether they are numbers.
template <class V>
class Extent {
 public:
  void see(typename V::F x) {
    largest_ = V::max(largest_, V::abs(x));
    zeros_ = V::fma(x, V::zero(), zeros_);
  }
  bool all_finite() const { return V::sum(zeros_) == 0.0f; }
  // Of the magnitudes, where all are finite.
  float largest() const { return V::maximum(largest_); }

 private:
  typename V::F largest_ = V::zero();
  typename V::F zeros_ = V::zero();  // NaN from the first element on that is not finite
};

// The scale of codes up to `most`: kNotFinite where an element is not a number, 0 where the inverse
// would not be one.
template <class V>
float code_scale(const Extent<V>& extent, float most) {
  if (!extent.all_finite()) return kNotFinite;
  const float step = extent.largest() / most;
  return step >= kLeastScale ? step : 0.0f;
}

// What elements are multiplied by to become codes: 0 where the scale tells all there is to know.
inline float code_factor(float scale) { return scale > 0 ? 1.0f / scale : 0.0f; }

}  // namespace adze::simd
