// Sixteen float lanes, and dot products of a line of codes with activations, in plain C++: the
// meaning that every vector instantiation has to reproduce bit for bit.
//
// A line is 64 bytes: 16 channels × 4 consecutive k; the four bytes of channel c are bytes 4c … 4c
// + 3. A nibble line holds two such lines, one in the low and one in the high four bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace adze::simd {

struct Scalar {
  static constexpr int kMaxTileRows = 4;

  // --- Floats ---
  struct F {
    std::array<float, 16> lane;
  };
  static F load(const float* from) {
    F out;
    std::memcpy(out.lane.data(), from, sizeof out.lane);
    return out;
  }
  static void store(float* to, const F& v) { std::memcpy(to, v.lane.data(), sizeof v.lane); }
  static F broadcast(float v) {
    F out;
    out.lane.fill(v);
    return out;
  }
  static F zero() { return broadcast(0.0f); }
  template <class Op>
  static F map(const F& a, const F& b, Op op) {
    F out;
    for (size_t i = 0; i < 16; ++i) out.lane[i] = op(a.lane[i], b.lane[i]);
    return out;
  }
  // The lowest integer for what is none in range, as the machine's instruction gives.
  static int32_t to_integer(float x) {
    return x >= -0x1p31f && x < 0x1p31f ? static_cast<int32_t>(x) : INT32_MIN;
  }
  static F add(const F& a, const F& b) {
    return map(a, b, [](float x, float y) { return x + y; });
  }
  static F sub(const F& a, const F& b) {
    return map(a, b, [](float x, float y) { return x - y; });
  }
  static F mul(const F& a, const F& b) {
    return map(a, b, [](float x, float y) { return x * y; });
  }
  static F div(const F& a, const F& b) {
    return map(a, b, [](float x, float y) { return x / y; });
  }
  static F fma(const F& a, const F& b, const F& c) {
    F out;
    for (size_t i = 0; i < 16; ++i) out.lane[i] = std::fma(a.lane[i], b.lane[i], c.lane[i]);
    return out;
  }
  // The second operand where the two are unordered or equal, as the machine's instruction does.
  static F max(const F& a, const F& b) {
    return map(a, b, [](float x, float y) { return x > y ? x : y; });
  }
  static F min(const F& a, const F& b) {
    return map(a, b, [](float x, float y) { return x < y ? x : y; });
  }
  static F abs(const F& a) {
    return map(a, a, [](float x, float) { return std::fabs(x); });
  }
  // To the nearest integer, ties to even.
  static F round(const F& a) {
    return map(a, a, [](float x, float) { return std::nearbyint(x); });
  }
  // 2^n for integral n in [−126, 127].
  static F exp2i(const F& n) {
    return map(n, n, [](float x, float) {
      return std::bit_cast<float>((static_cast<uint32_t>(to_integer(x)) + 127u) << 23);
    });
  }
  static F load_f16(const void* from) {
    F out;
    std::array<uint16_t, 16> bits;
    std::memcpy(bits.data(), from, sizeof bits);
    for (size_t i = 0; i < 16; ++i) out.lane[i] = f16_to_f32(bits[i]);
    return out;
  }
  static F load_bf16(const void* from) {
    F out;
    std::array<uint16_t, 16> bits;
    std::memcpy(bits.data(), from, sizeof bits);
    for (size_t i = 0; i < 16; ++i) {
      out.lane[i] = std::bit_cast<float>(static_cast<uint32_t>(bits[i]) << 16);
    }
    return out;
  }
  // 16 pairs of bf16: the first and the second of each.
  static void load_bf16_pairs(const void* from, F& first, F& second) {
    std::array<uint32_t, 16> bits;
    std::memcpy(bits.data(), from, sizeof bits);
    for (size_t i = 0; i < 16; ++i) {
      first.lane[i] = std::bit_cast<float>(bits[i] << 16);
      second.lane[i] = std::bit_cast<float>(bits[i] & 0xffff0000u);
    }
  }
  // Lanes to int8 codes; lanes are integral and in [−128, 127].
  static void store_i8(int8_t* to, const F& v) {
    for (size_t i = 0; i < 16; ++i)
      to[i] = static_cast<int8_t>(std::clamp(to_integer(v.lane[i]), -128, 127));
  }
  // Lanes rounded to bf16, to nearest even.
  static void store_bf16(uint16_t* to, const F& v) {
    for (size_t i = 0; i < 16; ++i) to[i] = f32_to_bf16(v.lane[i]);
  }
  // The lanes folded in halves: lane i with lane i + 8, then 4, 2, 1.
  template <class Op>
  static float fold(F v, Op op) {
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) v.lane[i] = op(v.lane[i], v.lane[i + half]);
    }
    return v.lane[0];
  }
  static float sum(const F& v) {
    return fold(v, [](float x, float y) { return x + y; });
  }
  static float maximum(const F& v) {
    return fold(v, [](float x, float y) { return x > y ? x : y; });
  }

  // --- Exact integers ---
  struct I {
    std::array<int32_t, 16> lane;
  };
  static I izero() { return ibroadcast(0); }
  static I ibroadcast(int32_t v) {
    I out;
    out.lane.fill(v);
    return out;
  }
  static I iadd(const I& a, const I& b) {
    I out;
    for (size_t i = 0; i < 16; ++i) out.lane[i] = a.lane[i] + b.lane[i];
    return out;
  }
  static I imul(const I& a, const I& b) {
    I out;
    for (size_t i = 0; i < 16; ++i) out.lane[i] = a.lane[i] * b.lane[i];
    return out;
  }
  // 16 unsigned bytes.
  static I load_u8(const uint8_t* from) {
    I out;
    for (size_t i = 0; i < 16; ++i) out.lane[i] = from[i];
    return out;
  }
  static F to_float(const I& v) {
    F out;
    for (size_t i = 0; i < 16; ++i) out.lane[i] = static_cast<float>(v.lane[i]);
    return out;
  }

  // 16 words of four bytes, and the bytes 0 and 2, or 1 and 3, of each as a pair of 16-bit numbers.
  static I load_words(const void* from) {
    I out;
    std::memcpy(out.lane.data(), from, sizeof out.lane);
    return out;
  }
  static int32_t pair(int32_t low, int32_t high) {
    return static_cast<int32_t>((static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high)
                                                                             << 16);
  }
  template <class Byte>
  static I byte_pairs(const I& words, int first) {
    I out;
    for (size_t i = 0; i < 16; ++i) {
      const auto byte = [&](int index) {
        return static_cast<Byte>(static_cast<uint32_t>(words.lane[i]) >> 8 * index);
      };
      out.lane[i] = pair(byte(first), byte(first + 2));
    }
    return out;
  }
  static I even_unsigned(const I& words) { return byte_pairs<uint8_t>(words, 0); }
  static I odd_unsigned(const I& words) { return byte_pairs<uint8_t>(words, 1); }
  static I even_signed(const I& words) { return byte_pairs<int8_t>(words, 0); }
  static I odd_signed(const I& words) { return byte_pairs<int8_t>(words, 1); }
  // sum + the dot product of two pairs of 16-bit numbers; it does not overflow.
  static I dot_pairs(I sum, const I& a, const I& b) {
    for (size_t i = 0; i < 16; ++i) {
      const auto low = [](int32_t v) { return static_cast<int16_t>(v); };
      const auto high = [](int32_t v) { return static_cast<int16_t>(v >> 16); };
      sum.lane[i] += low(a.lane[i]) * low(b.lane[i]) + high(a.lane[i]) * high(b.lane[i]);
    }
    return sum;
  }
  // Lanes to integers; they are integral.
  static void store_i32(int32_t* to, const F& v) {
    for (size_t i = 0; i < 16; ++i) to[i] = to_integer(v.lane[i]);
  }

  // --- Dot products over at most 32 k ---
  struct Line {
    std::array<uint8_t, 64> byte;
  };
  static Line load_line(const uint8_t* from) {
    Line out;
    std::memcpy(out.byte.data(), from, sizeof out.byte);
    return out;
  }
  static Line low_nibbles(Line v) {
    for (uint8_t& b : v.byte) b = b & 15;
    return v;
  }
  static Line high_nibbles(Line v) {
    for (uint8_t& b : v.byte) b = static_cast<uint8_t>(b >> 4);
    return v;
  }
  // Four activations for every channel.
  using Quad = std::array<int8_t, 4>;
  static Quad load_quad(const int8_t* from) { return {from[0], from[1], from[2], from[3]}; }
  // Codes 0 … 15.
  struct Dot4 {
    I sum = izero();
    void add(const Line& codes, const Quad& a) {
      for (size_t c = 0; c < 16; ++c) {
        for (size_t k = 0; k < 4; ++k) sum.lane[c] += codes.byte[4 * c + k] * a[k];
      }
    }
    I total() const { return sum; }
    I total_256() const { return imul(sum, ibroadcast(256)); }
    I total_times(const I& scale) const { return imul(sum, scale); }
  };
  // Codes 0 … 255.
  using Dot8 = Dot4;
};

}  // namespace adze::simd
