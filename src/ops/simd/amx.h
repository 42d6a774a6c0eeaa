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

  // All tiles of 16 rows of 64 bytes while one of these lives; nothing stays configured behind it.
  class Tiles {
   public:
    Tiles() {
      struct alignas(64) {
        uint8_t palette = 1;
        uint8_t start_row = 0;
        uint8_t reserved[14] = {};
        uint16_t column_bytes[16] = {};
        uint8_t rows[16] = {};
      } configuration;
      for (int i = 0; i < 8; ++i) {
        configuration.column_bytes[i] = 64;
        configuration.rows[i] = kTileRows;
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
  // sum[row][column] += Σ a[row][4j … 4j + 3] · b[j][4 column … 4 column + 3], int32; the names say
  // whether a and b hold signed or unsigned bytes.
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void dot_signed_unsigned() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
  // The same with pairs of bf16, in float32.
  template <int kSum, int kA, int kB>
  [[gnu::always_inline]] static void dot_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace amx_isa
}  // namespace adze::simd
