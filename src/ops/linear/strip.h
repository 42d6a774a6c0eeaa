// Many integer rows: two panels at a time become plain bytes and float32 scales in the scratch
// memory, a strip, and all rows sweep over it in tiles that stay in registers. Rounds exactly as
// generic.h does. For lanes that add products of bytes exactly (V::kByteDots).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/linear/generic.h"
#include "ops/simd/unroll.h"

namespace adze::ops::generic {

inline constexpr int kStripPanels = 2;
inline constexpr int kStripRows = 8;  // with fewer rows unpacking would not pay

// Lines of 64 bytes as simd/scalar.h has them, one per 4 k; scales and minimums [groups][16].
struct StripPanel {
  const uint8_t* lines;
  size_t block_stride;  // bytes from 16 lines to the next 16
  const float* scales;
  const float* minimums;
};

// What sums of activations a group of weights needs, by row and group.
struct RowSums {
  const int32_t* start;  // −offset · Σ codes: what the sum of products begins with
  const float* codes;    // Σ codes
  int64_t stride;        // from row to row
};

struct StripArguments {
  const LinearArguments& a;
  StripPanel panels[kStripPanels];
  RowSums sums;
  int64_t first_panel;
};

inline bool has_strips(const LinearArguments& a) {
  return a.layout != nullptr && a.last_row - a.first_row >= kStripRows &&
         (a.format->family == WeightFamily::kBits8 || a.format->family == WeightFamily::kBits4);
}

// One panel to lines whose codes lie `offset` above what they stand for; kBits8 stays where it is
// unless kSigned wants codes themselves.
template <class V, bool kSigned>
StripPanel unpack_strip(const PackedFormat& f, const uint8_t* panel, int64_t columns,
                        uint8_t* lines, float* scales, float* minimums) {
  const bool nibbles = f.family == WeightFamily::kBits4;
  const int groups = f.block_k / f.group;
  const size_t codes_bytes = nibbles ? 512 : 1024;
  const size_t scale_bytes = kPanelRows * (f.wide_scale ? 4 : 2);
  StripPanel strip = {lines, 1024, scales, minimums};
  if (!nibbles && !kSigned) strip = {panel, f.block_bytes, scales, minimums};
  for (int64_t k = 0; k < columns; k += f.block_k, panel += f.block_bytes, lines += 1024) {
    if (nibbles) {
      for (int i = 0; i < 8; ++i) {
        const typename V::Line both = V::load_line(panel + 64 * i);
        uint8_t* to = lines + 512 * (i / 4) + 64 * (i % 4);
        V::store_line(to, V::template minus<kSigned>(V::low_nibbles(both), f.code_offset));
        V::store_line(to + 256, V::template minus<kSigned>(V::high_nibbles(both), f.code_offset));
      }
    } else if (kSigned) {
      for (int i = 0; i < 16; ++i) {
        V::store_line(lines + 64 * i,
                      V::template minus<kSigned>(V::load_line(panel + 64 * i), 128));
      }
    }
    const uint8_t* scale = panel + codes_bytes;
    for (int g = 0; g < groups; ++g, scale += scale_bytes, scales += kPanelRows) {
      V::store(scales, f.wide_scale ? load_scale<V, true>(scale) : load_scale<V, false>(scale));
    }
    if (!f.minimum) continue;
    for (int g = 0; g < groups; ++g, scale += scale_bytes, minimums += kPanelRows) {
      V::store(minimums, f.wide_scale ? load_scale<V, true>(scale) : load_scale<V, false>(scale));
    }
  }
  return strip;
}

// One group's exact total of row r into the row's floats. kEach: activations have a scale per
// group of weights, so that `inner` need not outlive it.
template <class V, bool kEach, bool kMinimum>
[[gnu::always_inline]] inline void add_total(typename V::F& result, typename V::F total,
                                             typename V::F scale, typename V::F minimum,
                                             const float* codes, const float* activation_scale) {
  typename V::F inner = V::fma(total, scale, kEach ? V::zero() : result);
  if constexpr (kMinimum) inner = V::fma(V::broadcast(*codes), minimum, inner);
  result = kEach ? V::fma(inner, V::broadcast(*activation_scale), result) : inner;
}

// Where rows from `row` of the batch on have their parts; the next row's are a stride behind.
template <class V>
struct StripRows {
  const int8_t* codes;  // the high plane where there are two
  const float* scales;  // of activations
  int64_t scales_stride;
  const int32_t* sum_start;  // as RowSums has them
  const float* sum_codes;

  StripRows(const StripArguments& s, int64_t row) {
    const size_t row_bytes = s.a.layout->row_bytes();
    const std::byte* x = s.a.x + static_cast<size_t>(row) * row_bytes;
    codes = reinterpret_cast<const int8_t*>(x);
    scales = reinterpret_cast<const float*>(x + s.a.layout->scales_offset());
    scales_stride = static_cast<int64_t>(row_bytes / sizeof(float));
    sum_start = s.sums.start + (row - s.a.first_row) * s.sums.stride;
    sum_codes = s.sums.codes + (row - s.a.first_row) * s.sums.stride;
  }
};

// Ends group `index` of the activations of kSums sums, kPanels to a row.
template <class V, int kSums, int kPanels>
[[gnu::always_inline]] inline void close_strip_group(typename V::F (&inner)[kSums],
                                                     typename V::F (&outer)[kSums],
                                                     const StripRows<V>& rows, int64_t index) {
  simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
    const float* scale = rows.scales + i / kPanels * rows.scales_stride + index;
    outer[i] = V::fma(inner[i], V::broadcast(*scale), outer[i]);
    inner[i] = V::zero();
  });
}

// R rows from `row` on × kPanels panels.
template <class V, int R, int kPanels, int kPlanes, int kGroup, bool kEach, bool kMinimum>
inline void strip_tile(const StripArguments& s, int64_t row) {
  const LinearArguments& a = s.a;
  const auto row_bytes = static_cast<int64_t>(a.layout->row_bytes());
  const int64_t plane = a.layout->plane();
  const StripRows<V> rows(s, row);
  const int64_t groups = a.columns / kGroup;
  constexpr int kSums = R * kPanels;
  typename V::F result[kSums];
  typename V::F outer[kSums];
  simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
    result[i] = V::zero();
    if constexpr (!kEach) outer[i] = V::zero();
  });
  const int64_t groups_each = a.layout->group / kGroup;  // to a scale of activations
  int64_t close = groups_each;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t k = g * kGroup;
    typename V::I dot[kPlanes * kSums];
    simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
      constexpr int kRow = i / kPanels;
      dot[i] = V::ibroadcast(rows.sum_start[kRow * s.sums.stride + g]);
      if constexpr (kPlanes == 2) dot[kSums + i] = V::izero();
    });
    const uint8_t* lines[kPanels];
    simd::unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
      lines[p] =
          s.panels[p].lines + k / 64 * static_cast<int64_t>(s.panels[p].block_stride) + k % 64 * 16;
    });
    simd::unroll<kGroup / 4>([&](auto q) __attribute__((always_inline)) {
      typename V::Line codes[kPanels];
      simd::unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
        codes[p] = V::load_line(lines[p] + 64 * q);
      });
      simd::unroll<kPlanes * R>([&](auto i) __attribute__((always_inline)) {
        constexpr int kPlane = i / R;  // of two the low one comes last, and holds the start
        constexpr int kRow = i % R;
        const auto quad = V::load_quad(rows.codes + (kPlanes - 1 - kPlane) * plane +
                                       kRow * row_bytes + k + 4 * q);
        simd::unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
          constexpr int kSum = kPlane * kSums + kRow * kPanels + p;
          dot[kSum] = V::byte_dot(dot[kSum], codes[p], quad);
        });
      });
    });
    simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
      constexpr int kRow = i / kPanels;
      constexpr int kPanel = i % kPanels;
      typename V::I total = dot[i];
      if constexpr (kPlanes == 2) total = V::iadd(total, V::times_256(dot[kSums + i]));
      add_total<V, kEach, kMinimum>(
          result[i], V::to_float(total), V::load(s.panels[kPanel].scales + g * kPanelRows),
          kMinimum ? V::load(s.panels[kPanel].minimums + g * kPanelRows) : V::zero(),
          rows.sum_codes + kRow * s.sums.stride + g, rows.scales + kRow * rows.scales_stride + g);
    });
    if constexpr (!kEach) {
      if (--close > 0) continue;
      close = groups_each;
      close_strip_group<V, kSums, kPanels>(result, outer, rows, (g + 1) / groups_each - 1);
    }
  }
  typename V::F done[kSums];
  simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
    done[i] = kEach ? result[i] : outer[i];
  });
  for (int i = 0; i < kSums; ++i) {
    write_out<V>(a, row + i / kPanels, s.first_panel + i % kPanels, done[i]);
  }
}

// Rows [first, last): whole tiles, then smaller ones.
template <class V, int kPanels, int kPlanes, int kGroup, bool kEach, bool kMinimum>
void strip_rows(const StripArguments& s, int64_t first, int64_t last) {
  constexpr int kMost = kPlanes == 1 ? 6 : 4;
  int64_t row = first;
  for (; row + kMost <= last; row += kMost) {
    strip_tile<V, kMost, kPanels, kPlanes, kGroup, kEach, kMinimum>(s, row);
  }
  for (; row + 2 <= last; row += 2) {
    strip_tile<V, 2, kPanels, kPlanes, kGroup, kEach, kMinimum>(s, row);
  }
  if (row < last) strip_tile<V, 1, kPanels, kPlanes, kGroup, kEach, kMinimum>(s, row);
}

// The sums of all rows of the call, as far as its kernels read them: the start where codes have an
// offset, the sums themselves where weights have minimums.
template <class V>
RowSums fill_sums(const LinearArguments& a, bool wants_start, int offset, std::byte* scratch) {
  const int64_t groups = a.columns / a.format->group;
  const int64_t rows = a.last_row - a.first_row;
  auto* start = reinterpret_cast<int32_t*>(scratch);
  auto* codes = reinterpret_cast<float*>(start + rows * groups);
  const RowSums sums = {start, codes, groups};
  if (!wants_start && !a.format->minimum) return sums;
  for (int64_t r = 0; r < rows; ++r) {
    const auto* per_16 = reinterpret_cast<const int32_t*>(
        a.x + static_cast<size_t>(a.first_row + r) * a.layout->row_bytes() +
        a.layout->sums_offset());
    for (int64_t g = 0; g < groups; ++g) {
      const int32_t sum = a.format->group == 16 ? per_16[g] : per_16[2 * g] + per_16[2 * g + 1];
      start[r * groups + g] = -offset * sum;
      codes[r * groups + g] = static_cast<float>(sum);
    }
  }
  return sums;
}

// Calls body.operator()<kPanels, kPlanes, kGroup, kEach, kMinimum>() for what the call has.
template <class Body>
inline void for_strip_kind(const LinearArguments& a, bool two_panels, Body body) {
  const auto minimum = [&]<int kPanels, int kPlanes, int kGroup, bool kEach>() {
    a.format->minimum ? body.template operator()<kPanels, kPlanes, kGroup, kEach, true>()
                      : body.template operator()<kPanels, kPlanes, kGroup, kEach, false>();
  };
  const auto each = [&]<int kPanels, int kPlanes, int kGroup>() {
    a.layout->group == kGroup ? minimum.template operator()<kPanels, kPlanes, kGroup, true>()
                              : minimum.template operator()<kPanels, kPlanes, kGroup, false>();
  };
  const auto group = [&]<int kPanels, int kPlanes>() {
    a.format->group == 16 ? each.template operator()<kPanels, kPlanes, 16>()
                          : each.template operator()<kPanels, kPlanes, 32>();
  };
  const auto planes = [&]<int kPanels>() {
    a.layout->bits == 8 ? group.template operator()<kPanels, 1>()
                        : group.template operator()<kPanels, 2>();
  };
  two_panels ? planes.template operator()<2>() : planes.template operator()<1>();
}

// All panels of the call, two at a time; what the lanes do with a strip is rows<kPanels, …>(s).
template <class V, bool kSigned, class Rows>
inline void sweep_strips(const LinearArguments& a, Rows rows) {
  const PackedFormat& f = *a.format;
  const int offset = kSigned ? 0 : f.family == WeightFamily::kBits8 ? 128 : f.code_offset;
  const int64_t padded = padded_columns(a.columns);
  const int64_t floats = padded / 16 * kPanelRows;
  StripArguments s = {a, {}, {}, 0};
  auto* lines = reinterpret_cast<uint8_t*>(a.scratch);
  auto* scales = reinterpret_cast<float*>(lines + kStripPanels * padded * kPanelRows);
  s.sums = fill_sums<V>(a, !kSigned, offset,
                        reinterpret_cast<std::byte*>(scales + 2 * kStripPanels * floats));
  const size_t bytes = panel_bytes(f, a.columns);
  for (int64_t panel = a.first_panel; panel < a.last_panel; panel += kStripPanels) {
    const bool two = panel + 1 < a.last_panel;
    s.first_panel = panel;
    for (int p = 0; p < (two ? 2 : 1); ++p) {
      s.panels[p] = unpack_strip<V, kSigned>(
          f, reinterpret_cast<const uint8_t*>(a.panels + static_cast<size_t>(panel + p) * bytes),
          a.columns, lines + p * padded * kPanelRows, scales + 2 * p * floats,
          scales + (2 * p + 1) * floats);
    }
    for_strip_kind(a, two, [&]<int kPanels, int kPlanes, int kGroup, bool kEach, bool kMinimum>() {
      rows.template operator()<kPanels, kPlanes, kGroup, kEach, kMinimum>(s);
    });
  }
}

template <class V>
void linear_with_strips(const LinearArguments& a) {
  if (!has_strips(a)) {
    linear<V>(a);
    return;
  }
  sweep_strips<V, false>(a, [&]<int kPanels, int kPlanes, int kGroup, bool kEach, bool kMinimum>(
                                const StripArguments& s) {
    strip_rows<V, kPanels, kPlanes, kGroup, kEach, kMinimum>(s, a.first_row, a.last_row);
  });
}

}  // namespace adze::ops::generic
