// 16 lanes as two AVX2 registers.
// Operations act lane by lane unless said otherwise, and every backend gives the same bits:
//   max(x, y), min(x, y)       y where either is NaN
//   fma(x, y, z)               x · y + z, rounded once
//   round                      to int32, to nearest even
//   dot_pairs(s, x, y)         s + the dot product of two pairs of int16, wrapping
//   shift_*16                  act on the int16 halves of lanes
//   sum_of                     sum of all lanes as a tree: i with i+8, then i+4, i+2, i+1
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace adze::ops {
namespace {

struct LanesAvx2 {
  struct F {
    __m256 a, b;
  };
  struct I {
    __m256i a, b;
  };
  // Values that fit into the 16 registers beside their operands.
  static constexpr size_t kAccumulators = 4;
  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
  }
  static F broadcast(float x) {
    const __m256 v = _mm256_set1_ps(x);
    return {v, v};
  }
  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static F fma(F x, F y, F z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  static F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  static F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  static F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  static F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static F min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
  static F as_float(I x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
  static F to_float(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
  static I round(F x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
  static I load_int(const int32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
  }
  static void store_int(int32_t* p, I x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), x.b);
  }
  static I broadcast_int(int32_t x) {
    const __m256i v = _mm256_set1_epi32(x);
    return {v, v};
  }
  static I bit_and(I x, I y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
  template <int N>
  static I shift_left(I x) {
    return {_mm256_slli_epi32(x.a, N), _mm256_slli_epi32(x.b, N)};
  }
  template <int N>
  static I shift_left16(I x) {
    return {_mm256_slli_epi16(x.a, N), _mm256_slli_epi16(x.b, N)};
  }
  template <int N>
  static I shift_right16(I x) {
    return {_mm256_srli_epi16(x.a, N), _mm256_srli_epi16(x.b, N)};
  }
  template <int N>
  static I shift_right16_signed(I x) {
    return {_mm256_srai_epi16(x.a, N), _mm256_srai_epi16(x.b, N)};
  }
  static I dot_pairs(I sum, I x, I y) {
    return {_mm256_add_epi32(sum.a, _mm256_madd_epi16(x.a, y.a)),
            _mm256_add_epi32(sum.b, _mm256_madd_epi16(x.b, y.b))};
  }
  static I add_int(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
  // value where x ≥ limit, else 0.
  static F where_at_least(F x, F limit, F value) {
    return {_mm256_and_ps(_mm256_cmp_ps(x.a, limit.a, _CMP_GE_OQ), value.a),
            _mm256_and_ps(_mm256_cmp_ps(x.b, limit.b, _CMP_GE_OQ), value.b)};
  }
  static float first(F x) { return _mm256_cvtss_f32(x.a); }
  static float sum_of(F x) {
    const __m256 v = _mm256_add_ps(x.a, x.b);
    __m128 w = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    w = _mm_add_ps(w, _mm_movehl_ps(w, w));
    return _mm_cvtss_f32(_mm_add_ss(w, _mm_movehdup_ps(w)));
  }
  static float max_of(F x) {
    const __m256 v = _mm256_max_ps(x.a, x.b);
    __m128 w = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    w = _mm_max_ps(w, _mm_movehl_ps(w, w));
    return _mm_cvtss_f32(_mm_max_ss(w, _mm_movehdup_ps(w)));
  }
};

}  // namespace
}  // namespace adze::ops
