// The attention kernels written once over 16 lanes of float and int32; see attention.h for the
// order of operations. Include it in one source file per instruction set only.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "ops/attention/attention_kernels.h"
#include "ops/simd/lanes_exp.h"

namespace adze::ops {
namespace {

constexpr size_t kTokens = kCacheBlockTokens;
constexpr size_t kLanes = 16;
constexpr size_t kHalves = kTokens / kLanes;
constexpr float kNothing = -std::numeric_limits<float>::infinity();  // score of the invisible
constexpr float kSmallestNormal = std::numeric_limits<float>::min();

constexpr size_t to_size(int n) { return static_cast<size_t>(n); }

// A number in a type, whose conversion has internal linkage (std::integral_constant's has not).
template <size_t kValue>
struct Index {
  constexpr operator size_t() const { return kValue; }
};

// Calls f(0) … f(N−1) with constants: accumulator arrays indexed by them stay in registers, which a
// loop does not guarantee.
template <size_t N, class F>
[[gnu::always_inline]] inline void unroll(F f) {
  [&]<size_t... kI>(std::index_sequence<kI...>) __attribute__((always_inline)) {
    (f(Index<kI>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

// Calls f.template operator()<rows>(first row) for passes of at most kMax rows.
template <size_t kMax, class F>
void for_row_passes(size_t rows, F f) {
  size_t first = 0;
  for (; first + kMax <= rows; first += kMax) f.template operator()<kMax>(first);
  const size_t rest = rows - first;
  [&]<size_t... kI>(std::index_sequence<kI...>) {
    ((rest == kI + 1 ? f.template operator()<kI + 1>(first) : void()), ...);
  }
  (std::make_index_sequence<kMax - 1>{});
}

template <class V>
class AttentionAlgorithm {
  using F = typename V::F;
  using I = typename V::I;

  // A pass of kTileRows rows, two vectors wide where registers allow: a packed type takes two
  // operands per vector.
  static constexpr size_t kTileRows = V::kAccumulators >= 12 ? 6 : 4;
  static constexpr size_t tile_columns(DType type, size_t rows) {
    const size_t spare = V::kAccumulators >= 12 || type == DType::kF32 ? 0 : 1;
    return V::kAccumulators / (rows + spare) >= 2 ? 2 : 1;
  }

  // Two neighbours of BF16, as one word in memory: the even one, then the odd one.
  static F low_half(I pair) { return V::as_float(V::template shift_left<16>(pair)); }
  static F high_half(I pair) {
    return V::as_float(V::bit_and(pair, V::broadcast_int(static_cast<int32_t>(0xffff0000u))));
  }

  template <DType kType, size_t kRows, size_t kColumns>
  static void score_pass_float(const SegmentTile& tile, size_t b, size_t half, size_t row) {
    const float* queries = static_cast<const float*>(tile.queries) + row;
    F sum[kRows * kColumns];
    unroll<kRows * kColumns>([&](auto i) { sum[i] = V::zero(); });
    const auto add = [&](const float* query, const F* key) {
      unroll<kRows>([&](auto r) {
        const F x = V::broadcast(query[r]);
        unroll<kColumns>(
            [&](auto c) { sum[r * kColumns + c] = V::fma(x, key[c], sum[r * kColumns + c]); });
      });
    };
    const size_t dim = to_size(tile.padded_dim);
    if constexpr (kType == DType::kF32) {
      const float* keys = reinterpret_cast<const float*>(tile.keys[b]) + half * kLanes;
      for (size_t d = 0; d < dim; ++d, keys += kTokens, queries += kMaxTileRows) {
        F key[kColumns];
        unroll<kColumns>([&](auto c) { key[c] = V::load(keys + c * kLanes); });
        add(queries, key);
      }
    } else {
      const int32_t* keys = reinterpret_cast<const int32_t*>(tile.keys[b]) + half * kLanes;
      for (size_t d = 0; d < dim; d += 2, keys += kTokens, queries += 2 * kMaxTileRows) {
        F even[kColumns], odd[kColumns];
        unroll<kColumns>([&](auto c) {
          const I pair = V::load_int(keys + c * kLanes);
          even[c] = low_half(pair);
          odd[c] = high_half(pair);
        });
        add(queries, even);
        add(queries + kMaxTileRows, odd);
      }
    }
    const F scale = V::broadcast(tile.scale);
    float* out = tile.scores + row * kSegmentTokens + b * kTokens + half * kLanes;
    unroll<kRows>([&](auto r) {
      unroll<kColumns>([&](auto c) {
        V::store(out + r * kSegmentTokens + c * kLanes, V::mul(sum[r * kColumns + c], scale));
      });
    });
  }

  template <size_t kRows, size_t kColumns>
  static void score_pass_i8(const SegmentTile& tile, size_t b, size_t half, size_t row) {
    // A quad of a row is two pairs of 16-bit codes, dimensions 0 and 2, 1 and 3.
    const int32_t* queries = static_cast<const int32_t*>(tile.queries) + row * 2;
    const int32_t* keys = reinterpret_cast<const int32_t*>(tile.keys[b]) + half * kLanes;
    I sum[kRows * kColumns];
    unroll<kRows>([&](auto r) {
      const I start = V::broadcast_int(tile.query_corrections[row + r]);
      unroll<kColumns>([&](auto c) { sum[r * kColumns + c] = start; });
    });
    const I low_bytes = V::broadcast_int(0x00ff00ff);
    for (size_t d = 0; d < to_size(tile.padded_dim);
         d += 4, keys += kTokens, queries += 2 * kMaxTileRows) {
      I even[kColumns], odd[kColumns];
      unroll<kColumns>([&](auto c) {
        const I quad = V::load_int(keys + c * kLanes);
        even[c] = V::bit_and(quad, low_bytes);
        odd[c] = V::template shift_right16<8>(quad);
      });
      unroll<kRows>([&](auto r) {
        const I even_query = V::broadcast_int(queries[r * 2]);
        const I odd_query = V::broadcast_int(queries[r * 2 + 1]);
        unroll<kColumns>([&](auto c) {
          I& s = sum[r * kColumns + c];
          s = V::dot_pairs(s, even[c], even_query);
          s = V::dot_pairs(s, odd[c], odd_query);
        });
      });
    }
    float* out = tile.scores + row * kSegmentTokens + b * kTokens + half * kLanes;
    unroll<kRows>([&](auto r) {
      const F scale = V::broadcast(tile.query_scales[row + r] * tile.scale);
      unroll<kColumns>([&](auto c) {
        const F key_scale = V::load(tile.scales[b] + (half + c) * kLanes);
        V::store(out + r * kSegmentTokens + c * kLanes,
                 V::mul(V::mul(V::to_float(sum[r * kColumns + c]), key_scale), scale));
      });
    });
  }

  template <DType kType, size_t kRows, size_t kColumns>
  static void value_pass_float(const SegmentTile& tile, size_t d, size_t row) {
    const size_t dim = to_size(tile.padded_dim);
    F sum[kRows * kColumns];
    unroll<kRows * kColumns>([&](auto i) { sum[i] = V::zero(); });
    const auto add = [&](const float* p, const F* value) {
      unroll<kRows>([&](auto r) {
        const F x = V::broadcast(p[r * kSegmentTokens]);
        unroll<kColumns>(
            [&](auto c) { sum[r * kColumns + c] = V::fma(x, value[c], sum[r * kColumns + c]); });
      });
    };
    const float* p = tile.scores + row * kSegmentTokens;
    for (size_t b = 0; b < to_size(tile.blocks); ++b) {
      if constexpr (kType == DType::kF32) {
        const float* values = reinterpret_cast<const float*>(tile.values[b]) + d;
        for (size_t t = 0; t < kTokens; ++t, values += dim, ++p) {
          F value[kColumns];
          unroll<kColumns>([&](auto c) { value[c] = V::load(values + c * kLanes); });
          add(p, value);
        }
      } else {
        const int32_t* values = reinterpret_cast<const int32_t*>(tile.values[b]) + d;
        for (size_t t = 0; t < kTokens; t += 2, values += dim, p += 2) {
          F even[kColumns], odd[kColumns];
          unroll<kColumns>([&](auto c) {
            const I pair = V::load_int(values + c * kLanes);
            even[c] = low_half(pair);
            odd[c] = high_half(pair);
          });
          add(p, even);
          add(p + 1, odd);
        }
      }
    }
    store_outputs<kRows, kColumns>(tile, d, row, [&](auto i, auto) { return sum[i]; });
  }

  template <size_t kRows, size_t kColumns>
  static void value_pass_i8(const SegmentTile& tile, size_t d, size_t row) {
    const size_t dim = to_size(tile.padded_dim);
    I sum[kRows * kColumns];
    unroll<kRows * kColumns>([&](auto i) { sum[i] = V::broadcast_int(0); });
    // A quad of tokens is two pairs of 16-bit codes, tokens 0 and 2, 1 and 3.
    const int32_t* codes = reinterpret_cast<const int32_t*>(tile.codes + row * kSegmentTokens);
    constexpr size_t kRowWords = kSegmentTokens / 2;
    for (size_t b = 0; b < to_size(tile.blocks); ++b) {
      const int32_t* values = reinterpret_cast<const int32_t*>(tile.values[b]) + d;
      for (size_t t = 0; t < kTokens; t += 4, values += dim, codes += 2) {
        I even[kColumns], odd[kColumns];
        unroll<kColumns>([&](auto c) {
          const I quad = V::load_int(values + c * kLanes);
          even[c] = V::template shift_right16_signed<8>(V::template shift_left16<8>(quad));
          odd[c] = V::template shift_right16_signed<8>(quad);
        });
        unroll<kRows>([&](auto r) {
          const I even_code = V::broadcast_int(codes[r * kRowWords]);
          const I odd_code = V::broadcast_int(codes[r * kRowWords + 1]);
          unroll<kColumns>([&](auto c) {
            I& s = sum[r * kColumns + c];
            s = V::dot_pairs(s, even[c], even_code);
            s = V::dot_pairs(s, odd[c], odd_code);
          });
        });
      }
    }
    store_outputs<kRows, kColumns>(tile, d, row, [&](auto i, auto r) {
      return V::mul(V::to_float(sum[i]), V::broadcast(tile.code_scales[row + r]));
    });
  }

  // Adding zero turns −0 into +0: whether a sum that vanished is −0 depends on how many products
  // with p = 0 were added.
  template <size_t kRows, size_t kColumns, class Get>
  static void store_outputs(const SegmentTile& tile, size_t d, size_t row, Get get) {
    float* out = tile.partials + row * partial_stride(tile.padded_dim) + d;
    unroll<kRows>([&](auto r) {
      unroll<kColumns>([&](auto c) {
        constexpr size_t kIndex = r * kColumns + c;
        V::store(out + r * partial_stride(tile.padded_dim) + c * kLanes,
                 V::add(get(Index<kIndex>{}, r), V::zero()));
      });
    });
  }

  // p · value scale, rounded to 15-bit codes of the row's largest.
  static void quantize(const SegmentTile& tile, size_t r, float* p) {
    const size_t tokens = to_size(tile.blocks) * kTokens;
    F lanes = V::zero();
    for (size_t i = 0; i < tokens; i += kLanes) {
      const float* scales = tile.scales[i / kTokens] + kTokens + i % kTokens;
      const F product = V::mul(V::load(p + i), V::load(scales));
      V::store(p + i, product);
      lanes = V::max(lanes, product);
    }
    constexpr float kMaxCode = 32767;
    const float scale = V::max_of(lanes) / kMaxCode;
    // Below the smallest normal number the inverse would overflow: the row is zero.
    const bool zero = !(scale >= kSmallestNormal);
    tile.code_scales[r] = zero ? 0.0f : scale;
    const F inverse = V::broadcast(zero ? 0.0f : 1.0f / scale);
    const F limit = V::broadcast(kMaxCode);
    for (size_t i = 0; i < tokens; i += kLanes) {
      alignas(64) int32_t code[kLanes];
      V::store_int(code, V::round(V::min(V::mul(V::load(p + i), inverse), limit)));
      int16_t* out = tile.codes + r * kSegmentTokens + i;
      for (size_t q = 0; q < kLanes; q += 4) {
        out[q] = static_cast<int16_t>(code[q]);
        out[q + 1] = static_cast<int16_t>(code[q + 2]);
        out[q + 2] = static_cast<int16_t>(code[q + 1]);
        out[q + 3] = static_cast<int16_t>(code[q + 3]);
      }
    }
  }

 public:
  template <DType kType>
  static void scores(const SegmentTile& tile) {
    for (size_t b = 0; b < to_size(tile.blocks); ++b) {
      for_row_passes<kTileRows>(to_size(tile.rows), [&]<size_t kRows>(size_t row) {
        constexpr size_t kColumns = tile_columns(kType, kRows);
        for (size_t half = 0; half < kHalves; half += kColumns) {
          if constexpr (kType == DType::kI8) {
            score_pass_i8<kRows, kColumns>(tile, b, half, row);
          } else {
            score_pass_float<kType, kRows, kColumns>(tile, b, half, row);
          }
        }
      });
    }
  }

  template <DType kType>
  static void softmax(const SegmentTile& tile) {
    const size_t tokens = to_size(tile.blocks) * kTokens;
    for (size_t r = 0; r < to_size(tile.rows); ++r) {
      float* p = tile.scores + r * kSegmentTokens;
      float* tail = tile.partials + r * partial_stride(tile.padded_dim) + tile.padded_dim;
      F lanes = V::load(p);
      for (size_t i = kLanes; i < tokens; i += kLanes) lanes = V::max(lanes, V::load(p + i));
      const float largest = V::max_of(lanes);
      // Where nothing is visible every difference is made −∞, and p = 0.
      const F subtrahend = V::broadcast(largest == kNothing ? 0.0f : largest);
      F sum = V::zero();
      for (size_t i = 0; i < tokens; i += kLanes) {
        const F e = exp<V>(V::sub(V::load(p + i), subtrahend));
        V::store(p + i, e);
        sum = V::add(sum, e);
      }
      tail[0] = largest;
      tail[1] = V::sum_of(sum);
      if constexpr (kType == DType::kI8) quantize(tile, r, p);
    }
  }

  template <DType kType>
  static void values(const SegmentTile& tile) {
    const size_t dim = to_size(tile.padded_dim);
    const auto pass = [&]<size_t kColumns>(size_t d) {
      for_row_passes<kTileRows>(to_size(tile.rows), [&]<size_t kRows>(size_t row) {
        if constexpr (kType == DType::kI8) {
          value_pass_i8<kRows, kColumns>(tile, d, row);
        } else {
          value_pass_float<kType, kRows, kColumns>(tile, d, row);
        }
      });
    };
    constexpr size_t kColumns = tile_columns(kType, kTileRows);
    size_t d = 0;
    for (; d + kColumns * kLanes <= dim; d += kColumns * kLanes)
      pass.template operator()<kColumns>(d);
    for (; d < dim; d += kLanes) pass.template operator()<1>(d);
  }

  static void merge(float* into, const float* next, int padded_dim) {
    const size_t dim = to_size(padded_dim);
    if (next[dim + 1] == 0) return;
    if (into[dim + 1] == 0) {
      __builtin_memcpy(into, next, (dim + 2) * sizeof(float));
      return;
    }
    const float largest = into[dim] > next[dim] ? into[dim] : next[dim];
    const F old_factor = exp<V>(V::broadcast(into[dim] - largest));
    const F new_factor = exp<V>(V::broadcast(next[dim] - largest));
    for (size_t d = 0; d < dim; d += kLanes) {
      V::store(into + d, V::add(V::mul(V::load(into + d), old_factor),
                                V::mul(V::load(next + d), new_factor)));
    }
    into[dim] = largest;
    into[dim + 1] = into[dim + 1] * V::first(old_factor) + next[dim + 1] * V::first(new_factor);
  }
};

}  // namespace
}  // namespace adze::ops

#define ADZE_DEFINE_ATTENTION_KERNEL(kernel, isa, type, lanes)                     \
  extern const AttentionKernel kernel;                                             \
  const AttentionKernel kernel = {#kernel,                                         \
                                  Isa::isa,                                        \
                                  DType::type,                                     \
                                  AttentionAlgorithm<lanes>::scores<DType::type>,  \
                                  AttentionAlgorithm<lanes>::softmax<DType::type>, \
                                  AttentionAlgorithm<lanes>::values<DType::type>,  \
                                  AttentionAlgorithm<lanes>::merge}
