// The linear kernels, written once over the lanes of ops/simd.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/linear/linear.h"
#include "ops/simd/extent.h"

namespace adze::ops::generic {

// What runs inside a tile is inlined always: accumulators whose address another function gets would
// live in memory.

// Where a row's parts are, codes in P planes of bytes.
template <int P>
struct RowView {
  const int8_t* plane[P];
  const int32_t* sums;  // per 16 k
  const float* scales;
};

// R integer rows × one panel; accumulators live here between groups.
template <class V, int R>
struct Accumulators {
  typename V::F inner[R];
  typename V::F outer[R];
};

template <class V, bool kWide>
[[gnu::always_inline]] inline typename V::F load_scale(const uint8_t* from) {
  if constexpr (kWide) {
    return V::load(reinterpret_cast<const float*>(from));
  } else {
    return V::load_f16(from);
  }
}

// After the weight group that ends at column `end`: closes the activation group where it ends too.
// Padding after the last column closes the last group again, with nothing in it.
template <class V, int R, int P>
[[gnu::always_inline]] inline void close_group(Accumulators<V, R>& acc, const RowView<P>* rows,
                                               int64_t end, int64_t columns,
                                               int64_t activation_group) {
  if (end % activation_group != 0 && end < columns) return;
  const int64_t index = (end < columns ? end : columns) / activation_group - 1;
  for (int r = 0; r < R; ++r) {
    acc.outer[r] = V::fma(acc.inner[r], V::broadcast(rows[r].scales[index]), acc.outer[r]);
    acc.inner[r] = V::zero();
  }
}

// Adds one weight group: exact sum, scale, minimum.
template <class V, int R, bool kWide, bool kMinimum>
[[gnu::always_inline]] inline void add_group(Accumulators<V, R>& acc, const typename V::I* total,
                                             const int32_t* activation_sums, const uint8_t* scale,
                                             const uint8_t* minimum) {
  const typename V::F d = load_scale<V, kWide>(scale);
  for (int r = 0; r < R; ++r) acc.inner[r] = V::fma(V::to_float(total[r]), d, acc.inner[r]);
  if constexpr (kMinimum) {
    const typename V::F m = load_scale<V, kWide>(minimum);
    for (int r = 0; r < R; ++r) {
      const auto sum = V::broadcast(static_cast<float>(activation_sums[r]));
      acc.inner[r] = V::fma(sum, m, acc.inner[r]);
    }
  }
}

template <int R, int P>
[[gnu::always_inline]] inline void sums_of(const RowView<P>* rows, int64_t k, int group,
                                           int32_t* out) {
  for (int r = 0; r < R; ++r) {
    out[r] = rows[r].sums[k / 16];
    if (group == 32) out[r] += rows[r].sums[k / 16 + 1];
  }
}

// One line of weight codes against P planes of R rows: dot[p · R + r].
template <class V, int R, int P, class Dot>
[[gnu::always_inline]] inline void dot_line(const typename V::Line& codes, const RowView<P>* rows,
                                            int64_t k, Dot* dot) {
  for (int p = 0; p < P; ++p) {
    for (int r = 0; r < R; ++r) dot[p * R + r].add(codes, V::load_quad(rows[r].plane[p] + k));
  }
}

// 32 k of nibble lines: line j holds quads j and j + 4.
template <class V, int R, int P>
[[gnu::always_inline]] inline void dot_nibbles(const uint8_t* lines, const RowView<P>* rows,
                                               int64_t k, typename V::Dot4* dot) {
  for (int j = 0; j < 4; ++j) {
    const typename V::Line both = V::load_line(lines + 64 * j);
    dot_line<V, R>(V::low_nibbles(both), rows, k + 4 * j, dot);
    dot_line<V, R>(V::high_nibbles(both), rows, k + 16 + 4 * j, dot);
  }
}

// The exact sum over both planes of row r.
template <class V, int R, int P, class Dot>
[[gnu::always_inline]] inline typename V::I joined_total(const Dot* dot, int r) {
  if constexpr (P == 1) {
    return dot[r].total();
  } else {
    return V::iadd(dot[r].total_256(), dot[R + r].total());
  }
}

template <class V, int R, int P, bool kMinimum>
inline void tile_bits4(const PackedFormat& format, const uint8_t* block, const RowView<P>* rows,
                       int64_t columns, int64_t activation_group, Accumulators<V, R>& acc) {
  for (int64_t k = 0; k < columns; k += 64, block += format.block_bytes) {
    for (int h = 0; h < 2; ++h) {
      typename V::Dot4 dot[P * R];
      dot_nibbles<V, R>(block + 256 * h, rows, k + 32 * h, dot);
      int32_t sums[R];
      sums_of<R>(rows, k + 32 * h, 32, sums);
      typename V::I total[R];
      for (int r = 0; r < R; ++r) {
        total[r] =
            V::iadd(joined_total<V, R, P>(dot, r), V::ibroadcast(-format.code_offset * sums[r]));
      }
      add_group<V, R, false, kMinimum>(acc, total, sums, block + 512 + 32 * h,
                                       block + 576 + 32 * h);
      close_group<V, R>(acc, rows, k + 32 * (h + 1), columns, activation_group);
    }
  }
}

template <class V, int R, int P, int kGroup, bool kWide, bool kMinimum>
inline void tile_bits8(const PackedFormat& format, const uint8_t* block, const RowView<P>* rows,
                       int64_t columns, int64_t activation_group, Accumulators<V, R>& acc) {
  constexpr int kGroups = 64 / kGroup;
  constexpr int kScaleBytes = 16 * (kWide ? 4 : 2);
  for (int64_t k = 0; k < columns; k += 64, block += format.block_bytes) {
    for (int g = 0; g < kGroups; ++g) {
      typename V::Dot8 dot[P * R];
      for (int q = 0; q < kGroup / 4; ++q) {
        const typename V::Line codes = V::load_line(block + 64 * (g * kGroup / 4 + q));
        dot_line<V, R>(codes, rows, k + g * kGroup + 4 * q, dot);
      }
      int32_t sums[R];
      sums_of<R>(rows, k + g * kGroup, kGroup, sums);
      typename V::I total[R];
      for (int r = 0; r < R; ++r) {
        total[r] = V::iadd(joined_total<V, R, P>(dot, r), V::ibroadcast(-128 * sums[r]));
      }
      const uint8_t* scale = block + 1024 + kScaleBytes * g;
      add_group<V, R, kWide, kMinimum>(acc, total, sums, scale, scale + kScaleBytes * kGroups);
      close_group<V, R>(acc, rows, k + kGroup * (g + 1), columns, activation_group);
    }
  }
}

template <class V, int R, int P>
inline void tile_bits4k(const PackedFormat& format, const uint8_t* block, const RowView<P>* rows,
                        int64_t columns, int64_t activation_group, Accumulators<V, R>& acc) {
  for (int64_t k = 0; k < columns; k += 256, block += format.block_bytes) {
    typename V::I scaled[P * R];
    typename V::I minimums[R];
    for (auto& sum : scaled) sum = V::izero();
    for (auto& sum : minimums) sum = V::izero();
    for (int g = 0; g < 8; ++g) {
      typename V::Dot4 dot[P * R];
      dot_nibbles<V, R>(block + 256 * g, rows, k + 32 * g, dot);
      int32_t sums[R];
      sums_of<R>(rows, k + 32 * g, 32, sums);
      const typename V::I scale = V::load_u8(block + 2048 + 32 * g);
      const typename V::I minimum = V::load_u8(block + 2048 + 32 * g + 16);
      for (int i = 0; i < P * R; ++i) {
        scaled[i] = V::iadd(scaled[i], dot[i].total_times(scale));
      }
      for (int r = 0; r < R; ++r) {
        minimums[r] = V::iadd(minimums[r], V::imul(minimum, V::ibroadcast(sums[r])));
      }
    }
    const typename V::F d = V::load_f16(block + 2304);
    const typename V::F dmin = V::sub(V::zero(), V::load_f16(block + 2336));
    for (int r = 0; r < R; ++r) {
      typename V::F sum = V::to_float(scaled[r]);
      if constexpr (P == 2) {
        // Joined as integers they would not fit.
        sum = V::fma(sum, V::broadcast(256.0f), V::to_float(scaled[R + r]));
      }
      acc.inner[r] = V::fma(sum, d, acc.inner[r]);
      acc.inner[r] = V::fma(V::to_float(minimums[r]), dmin, acc.inner[r]);
    }
    close_group<V, R>(acc, rows, k + 256, columns, activation_group);
  }
}

template <class V, int R, int P>
inline void run_tile(const PackedFormat& f, const uint8_t* panel, const RowView<P>* rows,
                     int64_t columns, int64_t group, Accumulators<V, R>& acc) {
  if (f.family == WeightFamily::kBits4K)
    return tile_bits4k<V, R, P>(f, panel, rows, columns, group, acc);
  if (f.family == WeightFamily::kBits4) {
    return f.minimum ? tile_bits4<V, R, P, true>(f, panel, rows, columns, group, acc)
                     : tile_bits4<V, R, P, false>(f, panel, rows, columns, group, acc);
  }
  if (f.group == 16) {
    return f.minimum ? tile_bits8<V, R, P, 16, true, true>(f, panel, rows, columns, group, acc)
                     : tile_bits8<V, R, P, 16, true, false>(f, panel, rows, columns, group, acc);
  }
  if (f.wide_scale) {
    return f.minimum ? tile_bits8<V, R, P, 32, true, true>(f, panel, rows, columns, group, acc)
                     : tile_bits8<V, R, P, 32, true, false>(f, panel, rows, columns, group, acc);
  }
  return f.minimum ? tile_bits8<V, R, P, 32, false, true>(f, panel, rows, columns, group, acc)
                   : tile_bits8<V, R, P, 32, false, false>(f, panel, rows, columns, group, acc);
}

// Sixteen results to y, with bias and residual; fewer than sixteen channels in the last panel. Not
// inlined: tiles would have a copy for each of their sums.
template <class V>
[[gnu::noinline]] void write_out(const LinearArguments& a, int64_t row, int64_t panel,
                                 typename V::F result) {
  const int64_t channel = panel * kPanelRows;
  const int64_t first = channel - a.first_panel * kPanelRows;
  const int64_t at = (row - a.first_row) * a.y_stride + first;
  if (channel + kPanelRows <= a.channels) {
    if (a.bias != nullptr) result = V::add(result, V::load(a.bias + first));
    if (a.residual != nullptr) result = V::add(V::load(a.residual + at), result);
    V::store(a.y + at, result);
    return;
  }
  alignas(64) float lanes[kPanelRows];
  V::store(lanes, result);
  for (int64_t i = 0; i < a.channels - channel; ++i) {
    if (a.bias != nullptr) lanes[i] += a.bias[first + i];
    a.y[at + i] = a.residual != nullptr ? a.residual[at + i] + lanes[i] : lanes[i];
  }
}

template <class V, int R, int P>
inline void integer_rows(const LinearArguments& a, int64_t panel, size_t bytes, int64_t row) {
  RowView<P> rows[R];
  for (int r = 0; r < R; ++r) {
    const std::byte* base = a.x + static_cast<size_t>(row + r) * a.layout->row_bytes();
    for (int p = 0; p < P; ++p) {
      rows[r].plane[p] = reinterpret_cast<const int8_t*>(base) + p * a.layout->plane();
    }
    rows[r].sums = reinterpret_cast<const int32_t*>(base + a.layout->sums_offset());
    rows[r].scales = reinterpret_cast<const float*>(base + a.layout->scales_offset());
  }
  Accumulators<V, R> acc;
  for (int r = 0; r < R; ++r) acc.inner[r] = acc.outer[r] = V::zero();
  const auto* data =
      reinterpret_cast<const uint8_t*>(a.panels + static_cast<size_t>(panel) * bytes);
  run_tile<V, R, P>(*a.format, data, rows, a.columns, a.layout->group, acc);
  for (int r = 0; r < R; ++r) write_out<V>(a, row + r, panel, acc.outer[r]);
}

// A panel as float32 [columns][16], decoded exactly as decode() does.
template <class V>
inline void unpack_panel(const PackedFormat& f, const uint8_t* block, int64_t columns, float* out);

template <class V>
inline void unpack_line(typename V::F scale, typename V::F minimum, bool has_minimum, int offset,
                        const uint8_t* line, int shift, int mask, float* out) {
  for (int t = 0; t < 4; ++t) {
    alignas(64) float codes[kPanelRows];
    for (int c = 0; c < kPanelRows; ++c) {
      codes[c] = static_cast<float>((line[4 * c + t] >> shift & mask) - offset);
    }
    typename V::F w = V::mul(scale, V::load(codes));
    if (has_minimum) w = V::add(w, minimum);
    V::store(out + t * kPanelRows, w);
  }
}

template <class V>
inline void unpack_bits4(const PackedFormat& f, const uint8_t* block, float* out) {
  for (int h = 0; h < 2; ++h) {
    const auto d = V::load_f16(block + 512 + 32 * h);
    const auto m = f.minimum ? V::load_f16(block + 576 + 32 * h) : V::zero();
    for (int j = 0; j < 8; ++j) {
      unpack_line<V>(d, m, f.minimum, f.code_offset, block + 256 * h + 64 * (j % 4), j / 4 * 4, 15,
                     out + (32 * h + 4 * j) * kPanelRows);
    }
  }
}

template <class V>
inline void unpack_bits8(const PackedFormat& f, const uint8_t* block, float* out) {
  const int scale_bytes = 16 * (f.wide_scale ? 4 : 2);
  const int groups = 64 / f.group;
  for (int q = 0; q < 16; ++q) {
    const uint8_t* scale = block + 1024 + scale_bytes * (4 * q / f.group);
    const uint8_t* minimum = scale + scale_bytes * groups;
    const auto d = f.wide_scale ? load_scale<V, true>(scale) : load_scale<V, false>(scale);
    auto m = V::zero();
    if (f.minimum) m = f.wide_scale ? load_scale<V, true>(minimum) : load_scale<V, false>(minimum);
    unpack_line<V>(d, m, f.minimum, 128, block + 64 * q, 0, 255, out + 4 * q * kPanelRows);
  }
}

template <class V>
inline void unpack_bits4k(const uint8_t* block, float* out) {
  const auto d = V::load_f16(block + 2304);
  const auto dmin = V::load_f16(block + 2336);
  for (int g = 0; g < 8; ++g) {
    const uint8_t* sub = block + 2048 + 32 * g;
    const auto scale = V::mul(d, V::to_float(V::load_u8(sub)));
    const auto minimum = V::sub(V::zero(), V::mul(dmin, V::to_float(V::load_u8(sub + 16))));
    for (int j = 0; j < 8; ++j) {
      unpack_line<V>(scale, minimum, true, 0, block + 256 * g + 64 * (j % 4), j / 4 * 4, 15,
                     out + (32 * g + 4 * j) * kPanelRows);
    }
  }
}

template <class V>
inline void unpack_panel(const PackedFormat& f, const uint8_t* block, int64_t columns, float* out) {
  for (int64_t k = 0; k < columns; k += f.block_k, block += f.block_bytes) {
    float* to = out + k * kPanelRows;
    if (f.family == WeightFamily::kBits4) {
      unpack_bits4<V>(f, block, to);
    } else if (f.family == WeightFamily::kBits8) {
      unpack_bits8<V>(f, block, to);
    } else if (f.family == WeightFamily::kBits4K) {
      unpack_bits4k<V>(block, to);
    } else if (f.source == DType::kF32) {
      V::store(to, V::load(reinterpret_cast<const float*>(block)));
    } else {
      V::store(to, f.source == DType::kF16 ? V::load_f16(block) : V::load_bf16(block));
    }
  }
}

template <class V, int R>
inline void float_rows(const LinearArguments& a, int64_t panel, const float* weights, int64_t row) {
  const auto* x = reinterpret_cast<const float*>(a.x) + row * a.x_stride;
  typename V::F acc[R];
  for (int r = 0; r < R; ++r) acc[r] = V::zero();
  for (int64_t k = 0; k < a.columns; ++k) {
    const typename V::F w = V::load(weights + k * kPanelRows);
    for (int r = 0; r < R; ++r) acc[r] = V::fma(V::broadcast(x[r * a.x_stride + k]), w, acc[r]);
  }
  for (int r = 0; r < R; ++r) write_out<V>(a, row + r, panel, acc[r]);
}

// Rows in tiles of up to kMost: body(std::integral R, first row).
template <int kMost, class Body>
inline void for_row_tiles(int64_t first, int64_t last, Body body) {
  int64_t row = first;
  if constexpr (kMost >= 8) {
    for (; row + 8 <= last; row += 8) body.template operator()<8>(row);
  }
  if constexpr (kMost >= 4) {
    for (; row + 4 <= last; row += 4) body.template operator()<4>(row);
  }
  for (; row + 2 <= last; row += 2) body.template operator()<2>(row);
  for (; row < last; ++row) body.template operator()<1>(row);
}

template <class V>
void linear(const LinearArguments& a) {
  const size_t bytes = panel_bytes(*a.format, a.columns);
  for (int64_t panel = a.first_panel; panel < a.last_panel; ++panel) {
    if (a.layout == nullptr) {
      auto* weights = reinterpret_cast<float*>(a.scratch);
      unpack_panel<V>(
          *a.format,
          reinterpret_cast<const uint8_t*>(a.panels + static_cast<size_t>(panel) * bytes),
          a.columns, weights);
      for_row_tiles<V::kMaxTileRows>(a.first_row, a.last_row, [&]<int R>(int64_t row) {
        float_rows<V, R>(a, panel, weights, row);
      });
    } else if (a.layout->bits == 8) {
      for_row_tiles<V::kMaxTileRows>(a.first_row, a.last_row, [&]<int R>(int64_t row) {
        integer_rows<V, R, 1>(a, panel, bytes, row);
      });
    } else {
      // Two planes take the registers of twice the rows.
      for_row_tiles<V::kMaxTileRows / 2>(a.first_row, a.last_row, [&]<int R>(int64_t row) {
        integer_rows<V, R, 2>(a, panel, bytes, row);
      });
    }
  }
}

// Sixteen elements to codes of P planes `stride` bytes apart.
template <class V, int P>
inline void store_codes(typename V::F x, typename V::F inverse, int64_t stride, int8_t* to) {
  const typename V::F code = V::round(V::mul(x, inverse));
  if constexpr (P == 1) {
    V::store_i8(to, code);
  } else {
    // Half a code up, so that no rounding is a tie and the low byte stays in [−128, 127].
    const typename V::F half_up = V::add(code, V::broadcast(0.5f));
    const typename V::F high = V::round(V::mul(half_up, V::broadcast(1.0f / 256.0f)));
    V::store_i8(to, high);
    V::store_i8(to + stride, V::sub(code, V::mul(high, V::broadcast(256.0f))));
  }
}

template <class V, int P>
inline void quantize_planes(const QuantizedLayout& layout, const float* x, std::byte* out) {
  constexpr float kGreatest = P == 1 ? 127.0f : 127.0f * 256.0f + 127.0f;
  auto* codes = reinterpret_cast<int8_t*>(out);
  auto* sums = reinterpret_cast<int32_t*>(out + layout.sums_offset());
  auto* scales = reinterpret_cast<float*>(out + layout.scales_offset());
  const int64_t plane = layout.plane();
  for (int p = 0; p < P; ++p) {
    for (int64_t k = layout.columns; k < plane; ++k) codes[p * plane + k] = 0;
  }
  for (int64_t g = 0; g < layout.groups(); ++g) {
    const int64_t begin = g * layout.group;
    const int64_t end = begin + layout.group;
    const int64_t whole = begin + layout.group / 16 * 16;
    alignas(64) float tail[16] = {};
    for (int64_t k = whole; k < end; ++k) tail[k - whole] = x[k];
    simd::Extent<V> extent;
    extent.see(V::load(tail));
    for (int64_t k = begin; k < whole; k += 16) extent.see(V::load(x + k));
    scales[g] = simd::code_scale(extent, kGreatest);
    if (!(scales[g] > 0)) {
      for (int p = 0; p < P; ++p) {
        for (int64_t k = begin; k < end; ++k) codes[p * plane + k] = 0;
      }
      continue;
    }
    const typename V::F inverse = V::broadcast(kGreatest / extent.largest());
    for (int64_t k = begin; k < whole; k += 16) {
      store_codes<V, P>(V::load(x + k), inverse, plane, codes + k);
    }
    if (whole == end) continue;
    int8_t last[P * 16];
    store_codes<V, P>(V::load(tail), inverse, 16, last);
    for (int p = 0; p < P; ++p) {
      for (int64_t k = whole; k < end; ++k) codes[p * plane + k] = last[16 * p + k - whole];
    }
  }
  for (int64_t s = 0; s < plane / 16; ++s) {
    int32_t sum = 0;
    for (int64_t k = 16 * s; k < 16 * s + 16; ++k) {
      sum += P == 1 ? codes[k] : 256 * codes[k] + codes[plane + k];
    }
    sums[s] = sum;
  }
}

template <class V>
void quantize_row(const QuantizedLayout& layout, const float* x, std::byte* out) {
  layout.bits == 8 ? quantize_planes<V, 1>(layout, x, out) : quantize_planes<V, 2>(layout, x, out);
}

}  // namespace adze::ops::generic
