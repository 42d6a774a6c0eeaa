#include "ops/rope/rope.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace adze::ops {

Rope::Rope(int rotary_dim, double theta, std::span<const float> factors, double magnitude)
    : rotary_dim_(rotary_dim), magnitude_(magnitude) {
  assert(rotary_dim >= 2 && rotary_dim % 2 == 0 && theta > 0);
  const size_t pairs = static_cast<size_t>(rotary_dim / 2);
  assert(factors.empty() || factors.size() == pairs);
  frequencies_.resize(pairs);
  for (size_t i = 0; i < pairs; ++i) {
    frequencies_[i] = std::pow(theta, -2.0 * static_cast<double>(i) / rotary_dim);
    if (!factors.empty()) frequencies_[i] /= static_cast<double>(factors[i]);
  }
}

void Rope::fill(int32_t position, float* row) const {
  const size_t pairs = frequencies_.size();
  for (size_t i = 0; i < pairs; ++i) {
    const double angle = position * frequencies_[i];
    row[i] = static_cast<float>(std::cos(angle) * magnitude_);
    row[pairs + i] = static_cast<float>(std::sin(angle) * magnitude_);
  }
}

void rotate(std::span<const float> row, const float* x, int heads, int head_dim, float* out) {
  assert(row.size() % 2 == 0 && row.size() <= static_cast<size_t>(head_dim));
  const size_t pairs = row.size() / 2;
  const float* cosines = row.data();
  const float* sines = row.data() + pairs;
  for (int head = 0; head < heads; ++head, x += head_dim, out += head_dim) {
    for (size_t i = 0; i < pairs; ++i) {
      const float first = x[i];
      const float second = x[pairs + i];
      out[i] = first * cosines[i] - second * sines[i];
      out[pairs + i] = second * cosines[i] + first * sines[i];
    }
    if (out != x) std::copy(x + row.size(), x + head_dim, out + row.size());
  }
}

void rotate_write_kv(std::span<const float> row, const CacheLayout& layout, std::byte* block,
                     int slot, const float* keys, const float* values, float* rotated) {
  rotate(row, keys, layout.kv_heads(), layout.head_dim(), rotated);
  write_kv(layout, block, slot, rotated, values);
}

}  // namespace adze::ops
