// 16 lanes as one AVX-512 register (F, BW, DQ, VL and VNNI).
// Operations act lane by lane unless said otherwise, and every backend gives the same bits:
//   max(x, y), min(x, y)       y where either is NaN
//   fma(x, y, z)               x · y + z, rounded once
//   round                      to int32, to nearest even
//   dot_pairs(s, x, y)         s + the dot product of two pairs of int16, wrapping
//   shift_*16                  act on the int16 halves of lanes
//   sum_of                     sum of all lanes as a tree: i with i+8, then i+4, i+2, i+1
#pragma once

#ifdef ADZE_EMULATED
#include "ops/simd/emulated_avx512.h"
#else
// g++ 12 takes the intrinsics' deliberately undefined operands for mistakes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <cstdint>

namespace adze::ops {
namespace {

struct LanesAvx512 {
  using F = __m512;
  using I = __m512i;
  // Values that fit into the 32 registers beside their operands.
  static constexpr size_t kAccumulators = 12;
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static F broadcast(float x) { return _mm512_set1_ps(x); }
  static F zero() { return _mm512_setzero_ps(); }
  static F fma(F x, F y, F z) { return _mm512_fmadd_ps(x, y, z); }
  static F add(F x, F y) { return _mm512_add_ps(x, y); }
  static F sub(F x, F y) { return _mm512_sub_ps(x, y); }
  static F mul(F x, F y) { return _mm512_mul_ps(x, y); }
  static F max(F x, F y) { return _mm512_max_ps(x, y); }
  static F min(F x, F y) { return _mm512_min_ps(x, y); }
  static F as_float(I x) { return _mm512_castsi512_ps(x); }
  static F to_float(I x) { return _mm512_cvtepi32_ps(x); }
  static I round(F x) { return _mm512_cvtps_epi32(x); }
  static I load_int(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store_int(int32_t* p, I x) { _mm512_storeu_si512(p, x); }
  static I broadcast_int(int32_t x) { return _mm512_set1_epi32(x); }
  static I bit_and(I x, I y) { return _mm512_and_si512(x, y); }
  template <int N>
  static I shift_left(I x) {
    return _mm512_slli_epi32(x, N);
  }
  template <int N>
  static I shift_left16(I x) {
    return _mm512_slli_epi16(x, N);
  }
  template <int N>
  static I shift_right16(I x) {
    return _mm512_srli_epi16(x, N);
  }
  template <int N>
  static I shift_right16_signed(I x) {
    return _mm512_srai_epi16(x, N);
  }
  static I dot_pairs(I sum, I x, I y) { return _mm512_dpwssd_epi32(sum, x, y); }
  static I add_int(I x, I y) { return _mm512_add_epi32(x, y); }
  // value where x ≥ limit, else 0.
  static F where_at_least(F x, F limit, F value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_GE_OQ), value);
  }
  static float first(F x) { return _mm512_cvtss_f32(x); }
  static __m256 low(F x) { return _mm512_castps512_ps256(x); }
  static __m256 high(F x) { return _mm512_extractf32x8_ps(x, 1); }
  static float sum_of(F x) {
    const __m256 v = _mm256_add_ps(low(x), high(x));
    __m128 w = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    w = _mm_add_ps(w, _mm_movehl_ps(w, w));
    return _mm_cvtss_f32(_mm_add_ss(w, _mm_movehdup_ps(w)));
  }
  static float max_of(F x) {
    const __m256 v = _mm256_max_ps(low(x), high(x));
    __m128 w = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    w = _mm_max_ps(w, _mm_movehl_ps(w, w));
    return _mm_cvtss_f32(_mm_max_ss(w, _mm_movehdup_ps(w)));
  }
};

}  // namespace
}  // namespace adze::ops
