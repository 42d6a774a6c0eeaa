// Sixteen lanes as one 512-bit register; see scalar.h for the meaning of each operation. Needs F,
// BW, DQ, VL, VNNI.
#pragma once

#if !defined(ADZE_EMULATE_AVX512)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace adze::simd {
inline namespace avx512_isa {

struct Avx512 {
  static constexpr int kMaxTileRows = 8;

  using F = __m512;
  static F load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, F v) { _mm512_storeu_ps(to, v); }
  static F broadcast(float v) { return _mm512_set1_ps(v); }
  static F zero() { return _mm512_setzero_ps(); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F abs(F a) { return _mm512_abs_ps(a); }
  static F round(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static F exp2i(F n) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
  }
  static F load_f16(const void* from) { return _mm512_cvtph_ps(_mm256_loadu_si256(half(from))); }
  static F load_bf16(const void* from) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(half(from))), 16));
  }
  static void load_bf16_pairs(const void* from, F& first, F& second) {
    const __m512i words = _mm512_loadu_si512(from);
    first = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    second = _mm512_castsi512_ps(
        _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static void store_i8(int8_t* to, F v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
  }
  static void store_bf16(uint16_t* to, F v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __m512i word = _mm512_srli_epi32(_mm512_mask_mov_epi32(up, nan, quiet), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(word));
  }
  static float sum(F v) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float maximum(F v) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }

  using I = __m512i;
  static I izero() { return _mm512_setzero_si512(); }
  static I ibroadcast(int32_t v) { return _mm512_set1_epi32(v); }
  static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static I imul(I a, I b) { return _mm512_mullo_epi32(a, b); }
  static I load_u8(const uint8_t* from) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static I load_words(const void* from) { return _mm512_loadu_si512(from); }
  static I even_unsigned(I words) { return _mm512_and_si512(words, _mm512_set1_epi32(0x00ff00ff)); }
  static I odd_unsigned(I words) { return _mm512_srli_epi16(words, 8); }
  static I even_signed(I words) { return _mm512_srai_epi16(_mm512_slli_epi16(words, 8), 8); }
  static I odd_signed(I words) { return _mm512_srai_epi16(words, 8); }
  static I dot_pairs(I sum, I a, I b) { return _mm512_dpwssd_epi32(sum, a, b); }
  static void store_i32(int32_t* to, F v) { _mm512_storeu_si512(to, _mm512_cvtps_epi32(v)); }
  static F to_float(I v) { return _mm512_cvtepi32_ps(v); }

  using Line = __m512i;
  static Line load_line(const uint8_t* from) { return _mm512_loadu_si512(from); }
  static Line low_nibbles(Line v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
  static Line high_nibbles(Line v) { return low_nibbles(_mm512_srli_epi16(v, 4)); }
  using Quad = __m512i;
  static Quad load_quad(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm512_set1_epi32(four);
  }
  // sum + Σ codes · a over the four bytes of each channel: exact.
  [[gnu::always_inline]] static I byte_dot(I sum, Line codes, Quad a) {
#if defined(ADZE_EMULATE_AVX512)
    return _mm512_dpbusd_epi32(sum, codes, a);
#else
    // g++ 12 copies the sum around the intrinsic, and runs out of registers.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(a));
    return sum;
#endif
  }
  static I times_256(I sum) { return _mm512_slli_epi32(sum, 8); }
  static void store_line(uint8_t* to, Line v) { _mm512_storeu_si512(to, v); }
  // Codes `offset` below, as signed bytes, where they shall be signed.
  template <bool kSigned>
  static Line minus(Line codes, int offset) {
    return kSigned ? _mm512_sub_epi8(codes, _mm512_set1_epi8(static_cast<char>(offset))) : codes;
  }
  struct Dot4 {
    I sum = _mm512_setzero_si512();
    void add(Line codes, Quad a) { sum = byte_dot(sum, codes, a); }
    I total() const { return sum; }
    I total_256() const { return times_256(sum); }
    I total_times(I scale) const { return _mm512_mullo_epi32(sum, scale); }
  };
  using Dot8 = Dot4;

 private:
  static const __m256i* half(const void* from) { return static_cast<const __m256i*>(from); }
};

}  // namespace avx512_isa
}  // namespace adze::simd
