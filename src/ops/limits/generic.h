// The loops, written once over the lanes of ops/simd.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/limits/limits.h"
#include "ops/simd/unroll.h"

namespace adze::ops::generic {

// Chains of dependent instructions that run beside each other: more than latency times units.
template <class V>
inline constexpr int kChains = V::kMaxTileRows >= 8 ? 12 : 4;

template <class V>
inline void keep(V& value) {
  asm volatile("" : "+m"(value)::"memory");
}

template <class V>
double int8_rounds(int64_t rounds) {
  alignas(64) uint8_t codes[64];
  for (int i = 0; i < 64; ++i) codes[i] = static_cast<uint8_t>(i % 16);
  const int8_t four[4] = {1, -2, 3, -4};
  const typename V::Line line = V::load_line(codes);
  const typename V::Quad quad = V::load_quad(four);
  typename V::Dot4 dot[kChains<V>];
  for (int64_t i = 0; i < rounds; ++i) {
    simd::unroll<kChains<V>>([&](auto c)
                                 __attribute__((always_inline)) { dot[c].add(line, quad); });
  }
  simd::unroll<kChains<V>>([&](auto c) __attribute__((always_inline)) {
    auto total = dot[c].total();
    keep(total);
  });
  return static_cast<double>(rounds) * kChains<V> * 2 * 64;
}

template <class V>
double f32_rounds(int64_t rounds) {
  const typename V::F a = V::broadcast(0.5f);
  const typename V::F b = V::broadcast(0.25f);
  typename V::F sum[kChains<V>];
  simd::unroll<kChains<V>>([&](auto c) __attribute__((always_inline)) {
    sum[c] = V::broadcast(static_cast<float>(c));
  });
  for (int64_t i = 0; i < rounds; ++i) {
    simd::unroll<kChains<V>>([&](auto c)
                                 __attribute__((always_inline)) { sum[c] = V::fma(sum[c], a, b); });
  }
  simd::unroll<kChains<V>>([&](auto c) __attribute__((always_inline)) {
    auto chain = sum[c];
    keep(chain);
  });
  return static_cast<double>(rounds) * kChains<V> * 2 * 16;
}

template <class V>
uint64_t read_all(std::span<const std::byte> bytes) {
  typename V::F sum[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
  const auto* from = reinterpret_cast<const float*>(bytes.data());
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(float));
  for (int64_t i = 0; i < count; i += 64) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) sum[c] = V::max(V::load(from + i + 16 * c), sum[c]);
  }
  return static_cast<uint64_t>(V::maximum(V::max(V::max(sum[0], sum[1]), V::max(sum[2], sum[3]))));
}

}  // namespace adze::ops::generic
