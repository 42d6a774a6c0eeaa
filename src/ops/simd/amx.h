// Tiles of AMX: eight registers of 16 rows × 64 bytes, by number. The compiler's own intrinsics do
// not say what memory they read and write, and g++ 12 drops stores to it; hence instructions in
// place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/simd/avx512.h"

namespace adze::simd {
inline namespace amx_isa {

// The lanes of a CPU that has tiles.
struct Amx : Avx512 {
  static constexpr int kTileRows = 16;

  // Tiles are configured while one of these lives; nothing stays configured behind it. Products are
  // over `depth` bytes, at most 64: tiles 0 to 3 are sums of 16 rows of 16 columns, 4 and 5 first
  // operands of 16 rows of `depth` bytes, 6 and 7 second ones of depth / 4 rows of 64.
  class Tiles {
   public:
    explicit Tiles(int depth = 64) {
      struct alignas(64) {
        uint8_t palette = 1;
        uint8_t start_row = 0;
        uint8_t reserved[14] = {};
        uint16_t column_bytes[16] = {};
        uint8_t rows[16] = {};
      } configuration;
      for (int i = 0; i < 8; ++i) {
        configuration.column_bytes[i] = static_cast<uint16_t>(i == 4 || i == 5 ? depth : 64);
        configuration.rows[i] = static_cast<uint8_t>(i >= 6 ? depth / 4 : kTileRows);
      }
      asm volatile("ldtilecfg %0" ::"m"(configuration));
    }
    ~Tiles() { asm volatile("tilerelease"); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
  };

  // Row r is the 64 bytes at from + r · stride.
  template <int kTile>
  [[gnu::always_inline]] static void load_tile(const void* from, size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static void store_tile(void* to, size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static void zero_tile() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  // sum[row][column] += Σ a[row][4j … 4j + 3] · b[j][4 column … 4 column + 3], signed bytes, int32.
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void dot_bytes() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
  // The same with pairs of bf16, in float32.
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void dot_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace amx_isa
}  // namespace adze::simd
