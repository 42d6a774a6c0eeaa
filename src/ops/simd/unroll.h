// Loops of a few steps whose arrays must live in registers.
#pragma once

#include <utility>

namespace adze::simd {

// body(std::integral_constant<int, i>) for i from 0 to kCount − 1, without a loop: g++ 12 keeps
// arrays in memory that it unrolls loops over too late. Give the body
// __attribute__((always_inline)).
template <int kCount, class Body>
[[gnu::always_inline]] inline void unroll(Body body) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, kIndex>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

}  // namespace adze::simd
