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

// One group's exact total of a row into the row's float. kEach: activations have a scale per group
// of weights, so that `inner` need not outlive it.
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
  int64_t row_bytes;
  int64_t plane;
  const float* scales;  // of activations
  int64_t scales_stride;
  const int32_t* sum_start;  // as RowSums has them
  const float* sum_codes;

  StripRows(const StripArguments& s, int64_t row) {
    row_bytes = static_cast<int64_t>(s.a.layout->row_bytes());
    plane = s.a.layout->plane();
    const std::byte* x = s.a.x + row * row_bytes;
    codes = reinterpret_cast<const int8_t*>(x);
    scales = reinterpret_cast<const float*>(x + s.a.layout->scales_offset());
    scales_stride = row_bytes / static_cast<int64_t>(sizeof(float));
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

// The products of R rows × kPanels panels over the group of weights that begins at column k:
// dot[plane · R · kPanels + row · kPanels + panel], the low plane first.
template <class V, int R, int kPanels, int kPlanes>
[[gnu::always_inline]] inline void dot_strip_group(const StripArguments& s,
                                                   const StripRows<V>& rows, int64_t k,
                                                   typename V::I (&dot)[kPlanes * R * kPanels]) {
  constexpr int kUnrolled = 4;  // quads of k; groups have 4 or 8
  const uint8_t* lines[kPanels];
  simd::unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
    lines[p] =
        s.panels[p].lines + k / 64 * static_cast<int64_t>(s.panels[p].block_stride) + k % 64 * 16;
  });
  const int8_t* codes = rows.codes + k;
  for (const int8_t* end = codes + s.a.format->group; codes < end; codes += 4 * kUnrolled) {
    simd::unroll<kUnrolled>([&](auto q) __attribute__((always_inline)) {
      typename V::Line line[kPanels];
      simd::unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
        line[p] = V::load_line(lines[p] + 64 * q);
      });
      simd::unroll<kPlanes * R>([&](auto i) __attribute__((always_inline)) {
        constexpr int kPlane = i / R;
        constexpr int kRow = i % R;
        const auto quad = V::load_quad(codes + (kPlanes - 1 - kPlane) * rows.plane +
                                       kRow * rows.row_bytes + 4 * q);
        simd::unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
          constexpr int kSum = (kPlane * R + kRow) * kPanels + p;
          dot[kSum] = V::byte_dot(dot[kSum], line[p], quad);
        });
      });
    });
    for (const uint8_t*& line : lines) line += 64 * kUnrolled;
  }
}

// R rows from `row` on × kPanels panels.
template <class V, int R, int kPanels, int kPlanes, bool kEach>
inline void strip_tile(const StripArguments& s, int64_t row) {
  const LinearArguments& a = s.a;
  const StripRows<V> rows(s, row);
  const int64_t groups = a.columns / a.format->group;
  constexpr int kSums = R * kPanels;
  typename V::F result[kSums];
  typename V::F outer[kSums];
  simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
    result[i] = V::zero();
    if constexpr (!kEach) outer[i] = V::zero();
  });
  const int64_t groups_each = a.layout->group / a.format->group;  // to a scale of activations
  int64_t close = groups_each;
  for (int64_t g = 0; g < groups; ++g) {
    typename V::I dot[kPlanes * kSums];
    simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
      dot[i] = V::ibroadcast(rows.sum_start[i / kPanels * s.sums.stride + g]);
      if constexpr (kPlanes == 2) dot[kSums + i] = V::izero();
    });
    dot_strip_group<V, R, kPanels, kPlanes>(s, rows, g * a.format->group, dot);
    const auto add = [&]<bool kMinimum>() __attribute__((always_inline)) {
      simd::unroll<kSums>([&](auto i) __attribute__((always_inline)) {
        constexpr int kRow = i / kPanels;
        const StripPanel& panel = s.panels[i % kPanels];
        typename V::I total = dot[i];
        if constexpr (kPlanes == 2) total = V::iadd(total, V::times_256(dot[kSums + i]));
        add_total<V, kEach, kMinimum>(
            result[i], V::to_float(total), V::load(panel.scales + g * kPanelRows),
            kMinimum ? V::load(panel.minimums + g * kPanelRows) : V::zero(),
            rows.sum_codes + kRow * s.sums.stride + g, rows.scales + kRow * rows.scales_stride + g);
      });
    };
    a.format->minimum ? add.template operator()<true>() : add.template operator()<false>();
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
template <class V, int kPanels, int kPlanes, bool kEach>
void strip_rows(const StripArguments& s, int64_t first, int64_t last) {
  constexpr int kMost = kPlanes == 1 ? 6 : 4;
  int64_t row = first;
  for (; row + kMost <= last; row += kMost) strip_tile<V, kMost, kPanels, kPlanes, kEach>(s, row);
  for (; row + 2 <= last; row += 2) strip_tile<V, 2, kPanels, kPlanes, kEach>(s, row);
  if (row < last) strip_tile<V, 1, kPanels, kPlanes, kEach>(s, row);
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
  const auto fill_row = [&]<int kGroup>(int64_t r) {
    const auto* per_16 = reinterpret_cast<const int32_t*>(
        a.x + static_cast<size_t>(a.first_row + r) * a.layout->row_bytes() +
        a.layout->sums_offset());
    int32_t* __restrict row_start = start + r * groups;
    float* __restrict row_codes = codes + r * groups;
    for (int64_t g = 0; g < groups; ++g) {
      const int32_t sum = kGroup == 16 ? per_16[g] : per_16[2 * g] + per_16[2 * g + 1];
      row_start[g] = -offset * sum;
      row_codes[g] = static_cast<float>(sum);
    }
  };
  for (int64_t r = 0; r < rows; ++r) {
    a.format->group == 16 ? fill_row.template operator()<16>(r)
                          : fill_row.template operator()<32>(r);
  }
  return sums;
}

// Calls body.operator()<kPanels, kPlanes, kEach>() for what the call has.
template <class Body>
inline void for_strip_kind(const LinearArguments& a, bool two_panels, Body body) {
  const auto each = [&]<int kPanels, int kPlanes>() {
    a.layout->group == a.format->group ? body.template operator()<kPanels, kPlanes, true>()
                                       : body.template operator()<kPanels, kPlanes, false>();
  };
  const auto planes = [&]<int kPanels>() {
    a.layout->bits == 8 ? each.template operator()<kPanels, 1>()
                        : each.template operator()<kPanels, 2>();
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
    for_strip_kind(a, two, [&]<int kPanels, int kPlanes, bool kEach>() {
      rows.template operator()<kPanels, kPlanes, kEach>(s);
    });
  }
}

template <class V>
void linear_with_strips(const LinearArguments& a) {
  if (!has_strips(a)) {
    linear<V>(a);
    return;
  }
  sweep_strips<V, false>(a, [&]<int kPanels, int kPlanes, bool kEach>(const StripArguments& s) {
    strip_rows<V, kPanels, kPlanes, kEach>(s, a.first_row, a.last_row);
  });
}

}  // namespace adze::ops::generic
