#include "ops/rope/rope.h"

#include <cmath>
#include <cstring>

namespace adze::ops {

RopeFrequencies::RopeFrequencies(double theta, int32_t rotary_dim) {
  for (int32_t i = 0; i < rotary_dim / 2; ++i) {
    frequencies_.push_back(std::pow(theta, -2.0 * i / rotary_dim));
  }
}

void RopeFrequencies::fill(int64_t position, float* out) const {
  const size_t half = frequencies_.size();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    out[i] = static_cast<float>(std::cos(angle));
    out[half + i] = static_cast<float>(std::sin(angle));
  }
}

void rotate(const float* table, int32_t rotary_dim, int32_t head_dim, int32_t heads, const float* x,
            float* out) {
  const int32_t half = rotary_dim / 2;
  const float* cosine = table;
  const float* sine = table + half;
  for (int32_t head = 0; head < heads; ++head, x += head_dim, out += head_dim) {
    for (int32_t i = 0; i < half; ++i) {
      const float first = x[i];
      const float second = x[i + half];
      out[i] = first * cosine[i] - second * sine[i];
      out[i + half] = second * cosine[i] + first * sine[i];
    }
    if (out != x && rotary_dim < head_dim) {
      std::memcpy(out + rotary_dim, x + rotary_dim,
                  static_cast<size_t>(head_dim - rotary_dim) * sizeof(float));
    }
  }
}

}  // namespace adze::ops
