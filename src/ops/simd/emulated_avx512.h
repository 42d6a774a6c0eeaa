// AVX-512 intrinsics for tests on CPUs without them: SIMDe's, and the few that it lacks in two
// 256-bit halves.
#pragma once

#include <simde/x86/avx512.h>

namespace adze::simd::emulated {

inline __m512i join(__m256i low, __m256i high) {
  return simde_mm512_inserti64x4(simde_mm512_castsi256_si512(low), high, 1);
}
inline __m512 join(__m256 low, __m256 high) {
  return simde_mm512_castsi512_ps(join(_mm256_castps_si256(low), _mm256_castps_si256(high)));
}
inline __m256 upper(__m512 v) {
  return _mm256_castpd_ps(simde_mm512_extractf64x4_pd(simde_mm512_castps_pd(v), 1));
}
inline __m256i lower(__m512i v) { return simde_mm512_castsi512_si256(v); }
inline __m256i upper(__m512i v) { return simde_mm512_extracti64x4_epi64(v, 1); }

inline __m512i cvtps_epi32(__m512 v) {
  return join(_mm256_cvtps_epi32(simde_mm512_castps512_ps256(v)), _mm256_cvtps_epi32(upper(v)));
}
inline __m512 cvtepi32_ps(__m512i v) {
  return join(_mm256_cvtepi32_ps(lower(v)), _mm256_cvtepi32_ps(upper(v)));
}
inline __m512i cvtepu8_epi32(__m128i v) {
  return join(_mm256_cvtepu8_epi32(v), _mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)));
}
inline __m512i cvtepu16_epi32(__m256i v) {
  return join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(v)),
              _mm256_cvtepu16_epi32(_mm256_extracti128_si256(v, 1)));
}
inline __m512 cvtph_ps(__m256i v) {
  return join(_mm256_cvtph_ps(_mm256_castsi256_si128(v)),
              _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1)));
}
// Truncates each lane to its low byte.
inline __m128i cvtepi32_epi8(__m512i v) {
  alignas(64) int lanes[16];
  alignas(16) signed char bytes[16];
  simde_mm512_store_si512(lanes, v);
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<signed char>(lanes[i]);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}

// Truncates each lane to its low half.
inline __m256i cvtepi32_epi16(__m512i v) {
  alignas(64) int lanes[16];
  alignas(32) short words[16];
  simde_mm512_store_si512(lanes, v);
  for (int i = 0; i < 16; ++i) words[i] = static_cast<short>(lanes[i]);
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(words));
}

}  // namespace adze::simd::emulated

#define _mm512_extractf32x8_ps(v, half) adze::simd::emulated::upper(v)
#define _mm512_cvtps_epi32 adze::simd::emulated::cvtps_epi32
#define _mm512_cvtepi32_ps adze::simd::emulated::cvtepi32_ps
#define _mm512_cvtepu8_epi32 adze::simd::emulated::cvtepu8_epi32
#define _mm512_cvtepu16_epi32 adze::simd::emulated::cvtepu16_epi32
#define _mm512_cvtph_ps adze::simd::emulated::cvtph_ps
#define _mm512_cvtepi32_epi8 adze::simd::emulated::cvtepi32_epi8
#define _mm512_cvtepi32_epi16 adze::simd::emulated::cvtepi32_epi16
