// For kernels with bf16 dot products: float32 numbers as sums of two bf16, and softmax weights in
// that form. Needs F, BW, DQ, VL and BF16 of AVX-512.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "ops/attention/visible.h"

namespace adze::ops::generic {

// Splits 32 numbers: `high` has their upper 16 bits, `low` what is left, rounded; together within
// 2⁻¹⁷ of the number. Infinity and NaN stay what makes sums not finite.
template <class V>
[[gnu::always_inline]] inline void split_pairs(__m512 first, __m512 second, uint16_t* high,
                                               uint16_t* low) {
  const __m512 upper = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  const __m512 first_rest = _mm512_sub_ps(first, _mm512_and_ps(first, upper));
  const __m512 second_rest = _mm512_sub_ps(second, _mm512_and_ps(second, upper));
  const __m512i odd =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                       25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  _mm512_storeu_si512(high, _mm512_permutex2var_epi16(_mm512_castps_si512(first), odd,
                                                      _mm512_castps_si512(second)));
  const __m512bh rest = _mm512_cvtne2ps_pbh(second_rest, first_rest);
  __builtin_memcpy(low, &rest, sizeof rest);
}

// A query's `dims` elements, a multiple of 16, filled up with zeros to a multiple of 32.
template <class V>
inline void split_query(const float* query, int32_t dims, uint16_t* high, uint16_t* low) {
  for (int32_t d = 0; d < dims; d += 32) {
    const __m512 first = _mm512_loadu_ps(query + d);
    const __m512 second = d + 16 < dims ? _mm512_loadu_ps(query + d + 16) : _mm512_setzero_ps();
    split_pairs<V>(first, second, high + d, low + d);
  }
}

// The rows of a key head lie far apart: no hardware foresees the next.
template <class V>
inline void prefetch_query(const float* query, int32_t dims) {
  for (int32_t d = 0; d < dims; d += 16) {
    _mm_prefetch(reinterpret_cast<const char*>(query + d), _MM_HINT_T0);
  }
}

// 2^y with a relative error below 3·10⁻⁷: the fraction's power by a polynomial of degree 5 (through
// the Chebyshev nodes of [0, 1], exact at 0), scaled by the integer part. 0 for −∞.
template <class V>
[[gnu::always_inline]] inline __m512 exp2(__m512 y) {
  const __m512 f = _mm512_reduce_ps(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  __m512 p = _mm512_set1_ps(0.0017883688f);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.00919938739f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.0556570552f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.240207195f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.69314754f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, y);
}

// One row's raw scores [256] to weights exp(scale · (score − maximum)), split, in every
// block of 32 tokens of which any row sees one; keys that the row does not see get zero. Writes
// maximum and sum to the partial. kAll: the row sees all 256.
template <class V, bool kAll>
inline void softmax_pairs(const float* scores, const uint16_t* lanes, const uint16_t* any,
                          float scale, uint16_t* high, uint16_t* low, float* partial) {
  const __m512 none = _mm512_set1_ps(-__builtin_huge_valf());
  const auto load = [&](int g) {
    return kAll ? _mm512_loadu_ps(scores + g * 16)
                : _mm512_mask_loadu_ps(none, lanes[g], scores + g * 16);
  };
  __m512 highest[4] = {none, none, none, none};
  for (int g = 0; g < kSegmentGroups; g += 4) {
    for (int i = 0; i < 4; ++i) {
      if (kAll || lanes[g + i] != 0) highest[i] = _mm512_max_ps(highest[i], load(g + i));
    }
  }
  const float maximum = V::maximum(
      _mm512_max_ps(_mm512_max_ps(highest[0], highest[1]), _mm512_max_ps(highest[2], highest[3])));
  const __m512 factor = _mm512_set1_ps(scale * 1.44269504f);
  const __m512 offset = _mm512_set1_ps(maximum * (scale * 1.44269504f));
  __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  for (int g = 0; g < kSegmentGroups; g += 2) {
    if (!kAll && any[g] == 0 && any[g + 1] == 0) continue;
    const __m512 first = exp2<V>(_mm512_fmsub_ps(load(g), factor, offset));
    const __m512 second = exp2<V>(_mm512_fmsub_ps(load(g + 1), factor, offset));
    sums[0] = _mm512_add_ps(sums[0], first);
    sums[1] = _mm512_add_ps(sums[1], second);
    split_pairs<V>(first, second, high + g * 16, low + g * 16);
  }
  partial[0] = maximum * scale;
  partial[1] = V::sum(_mm512_add_ps(sums[0], sums[1]));
}

}  // namespace adze::ops::generic
