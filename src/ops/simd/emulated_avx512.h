// AVX-512 by SIMDe, for tests on processors with AVX2, and what SIMDe 0.7.4 lacks.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace adze::ops {
namespace {

inline simde__m512 emulated_cvtepi32_ps(simde__m512i x) {
  simde__m512 out;
  for (int i = 0; i < 2; ++i) {
    reinterpret_cast<__m256*>(&out)[i] =
        _mm256_cvtepi32_ps(reinterpret_cast<const __m256i*>(&x)[i]);
  }
  return out;
}

inline simde__m512i emulated_cvtps_epi32(simde__m512 x) {
  simde__m512i out;
  for (int i = 0; i < 2; ++i) {
    reinterpret_cast<__m256i*>(&out)[i] =
        _mm256_cvtps_epi32(reinterpret_cast<const __m256*>(&x)[i]);
  }
  return out;
}

template <int kHalf>
__m256 emulated_extractf32x8_ps(simde__m512 x) {
  return reinterpret_cast<const __m256*>(&x)[kHalf];
}

}  // namespace
}  // namespace adze::ops

#define _mm512_cvtepi32_ps(x) emulated_cvtepi32_ps(x)
#define _mm512_cvtps_epi32(x) emulated_cvtps_epi32(x)
#define _mm512_extractf32x8_ps(x, half) emulated_extractf32x8_ps<half>(x)
#define _mm512_cvtss_f32(x) _mm256_cvtss_f32(emulated_extractf32x8_ps<0>(x))
