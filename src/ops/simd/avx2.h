// Sixteen lanes as two 256-bit registers; see scalar.h for the meaning of each operation.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace adze::simd {
inline namespace avx2_isa {

struct Avx2 {
  static constexpr int kMaxTileRows = 4;

  struct F {
    __m256 low, high;
  };
  static F load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
  static void store(float* to, F v) {
    _mm256_storeu_ps(to, v.low);
    _mm256_storeu_ps(to + 8, v.high);
  }
  static F broadcast(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }
  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static F add(F a, F b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  static F sub(F a, F b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  static F mul(F a, F b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  static F div(F a, F b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  static F fma(F a, F b, F c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static F max(F a, F b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
  static F min(F a, F b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
  static F abs(F a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
  }
  static F round(F a) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a.low, kNearest), _mm256_round_ps(a.high, kNearest)};
  }
  static F exp2i(F n) {
    const __m256i bias = _mm256_set1_epi32(127);
    const auto power = [&](__m256 x) {
      return _mm256_castsi256_ps(
          _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(x), bias), 23));
    };
    return {power(n.low), power(n.high)};
  }
  static F load_f16(const void* from) {
    const auto* halves = static_cast<const __m128i*>(from);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
  }
  static F load_bf16(const void* from) {
    const auto* halves = static_cast<const __m128i*>(from);
    const auto widen = [](__m128i bits) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    };
    return {widen(_mm_loadu_si128(halves)), widen(_mm_loadu_si128(halves + 1))};
  }
  static void load_bf16_pairs(const void* from, F& first, F& second) {
    const auto* words = static_cast<const __m256i*>(from);
    const __m256i low = _mm256_loadu_si256(words);
    const __m256i high = _mm256_loadu_si256(words + 1);
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    first = {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
             _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
    second = {_mm256_castsi256_ps(_mm256_and_si256(low, mask)),
              _mm256_castsi256_ps(_mm256_and_si256(high, mask))};
  }
  static void store_i8(int8_t* to, F v) {
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(v.low), _mm256_cvtps_epi32(v.high));
    const __m256i ordered = _mm256_permute4x64_epi64(words, 0xd8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  }
  static void store_bf16(uint16_t* to, F v) {
    const auto rounded = [](__m256 x) {
      const __m256i bits = _mm256_castps_si256(x);
      const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
      const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff));
      const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
      const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
      return _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
    };
    const __m256i words = _mm256_packus_epi32(rounded(v.low), rounded(v.high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(words, 0xd8));
  }
  static float sum(F v) {
    const __m256 eight = _mm256_add_ps(v.low, v.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float maximum(F v) {
    const __m256 eight = _mm256_max_ps(v.low, v.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }

  struct I {
    __m256i low, high;
  };
  static I izero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static I ibroadcast(int32_t v) { return {_mm256_set1_epi32(v), _mm256_set1_epi32(v)}; }
  static I iadd(I a, I b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
  }
  static I imul(I a, I b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
  }
  static I load_u8(const uint8_t* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
  }
  static I load_words(const void* from) {
    const auto* halves = static_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
  }
  static I even_unsigned(I words) {
    const __m256i mask = _mm256_set1_epi32(0x00ff00ff);
    return {_mm256_and_si256(words.low, mask), _mm256_and_si256(words.high, mask)};
  }
  static I odd_unsigned(I words) {
    return {_mm256_srli_epi16(words.low, 8), _mm256_srli_epi16(words.high, 8)};
  }
  static I even_signed(I words) {
    return odd_signed({_mm256_slli_epi16(words.low, 8), _mm256_slli_epi16(words.high, 8)});
  }
  static I odd_signed(I words) {
    return {_mm256_srai_epi16(words.low, 8), _mm256_srai_epi16(words.high, 8)};
  }
  static I dot_pairs(I sum, I a, I b) {
    return iadd(sum, {_mm256_madd_epi16(a.low, b.low), _mm256_madd_epi16(a.high, b.high)});
  }
  static void store_i32(int32_t* to, F v) {
    auto* halves = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(halves, _mm256_cvtps_epi32(v.low));
    _mm256_storeu_si256(halves + 1, _mm256_cvtps_epi32(v.high));
  }
  static F to_float(I v) { return {_mm256_cvtepi32_ps(v.low), _mm256_cvtepi32_ps(v.high)}; }

  struct Line {
    __m256i low, high;
  };
  static Line load_line(const uint8_t* from) {
    const auto* halves = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
  }
  static Line low_nibbles(Line v) {
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(v.low, mask), _mm256_and_si256(v.high, mask)};
  }
  static Line high_nibbles(Line v) {
    return low_nibbles({_mm256_srli_epi16(v.low, 4), _mm256_srli_epi16(v.high, 4)});
  }
  using Quad = __m256i;
  static Quad load_quad(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm256_set1_epi32(four);
  }
  // Pairs of products stay exact in 16 bits for 32 k: 8 quads × 2 products × 15 · 128 = 30,720.
  struct Dot4 {
    Line sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    void add(Line codes, Quad a) {
      sum.low = _mm256_add_epi16(sum.low, _mm256_maddubs_epi16(codes.low, a));
      sum.high = _mm256_add_epi16(sum.high, _mm256_maddubs_epi16(codes.high, a));
    }
    I total() const { return weighted(_mm256_set1_epi16(1)); }
    I total_256() const { return weighted(_mm256_set1_epi16(256)); }
    I weighted(__m256i weight) const {
      return {_mm256_madd_epi16(sum.low, weight), _mm256_madd_epi16(sum.high, weight)};
    }
    // scale: 0 … 32,767 per channel.
    I total_times(I scale) const {
      const auto twice = [](__m256i v) { return _mm256_or_si256(v, _mm256_slli_epi32(v, 16)); };
      return {_mm256_madd_epi16(sum.low, twice(scale.low)),
              _mm256_madd_epi16(sum.high, twice(scale.high))};
    }
  };
  // Eight bits as two nibbles: a product of a byte and an activation pair would saturate 16 bits.
  struct Dot8 {
    Dot4 low, high;
    void add(Line codes, Quad a) {
      low.add(low_nibbles(codes), a);
      high.add(high_nibbles(codes), a);
    }
    I total() const { return iadd(low.total(), high.weighted(_mm256_set1_epi16(16))); }
    I total_256() const { return iadd(low.total_256(), high.weighted(_mm256_set1_epi16(4096))); }
  };
};

}  // namespace avx2_isa
}  // namespace adze::simd
