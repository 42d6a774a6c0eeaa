// Rotation, written once over the lanes of ops/simd.
#pragma once

#include <cstdint>

#include "ops/rope/rope.h"

namespace adze::ops::generic {

template <class V>
void rotate(const float* table, int32_t rotary_dim, int32_t head_dim, int32_t heads, const float* x,
            float* out) {
  const int32_t half = rotary_dim / 2;
  const float* cosine = table;
  const float* sine = table + half;
  for (int32_t head = 0; head < heads; ++head, x += head_dim, out += head_dim) {
    int32_t i = 0;
    for (; i + 16 <= half; i += 16) {
      const typename V::F first = V::load(x + i);
      const typename V::F second = V::load(x + half + i);
      const typename V::F c = V::load(cosine + i);
      const typename V::F s = V::load(sine + i);
      V::store(out + i, V::sub(V::mul(first, c), V::mul(second, s)));
      V::store(out + half + i, V::add(V::mul(second, c), V::mul(first, s)));
    }
    for (; i < half; ++i) {
      const float first = x[i];
      const float second = x[half + i];
      out[i] = first * cosine[i] - second * sine[i];
      out[half + i] = second * cosine[i] + first * sine[i];
    }
    for (int32_t d = rotary_dim; d < head_dim; ++d) out[d] = x[d];
  }
}

}  // namespace adze::ops::generic
