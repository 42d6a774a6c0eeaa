// Strips on AMX: sixteen rows × sixteen channels of one group of weights are a tile product, exact
// in int32; its results join the rows' floats as those of all other kernels do.
#include "ops/linear/strip.h"
#include "ops/simd/amx.h"

namespace adze::ops {
namespace {

using generic::StripArguments;
using simd::Amx;

constexpr int kRows = Amx::kTileRows;
constexpr int kAhead = 2;  // groups whose products are on their way while others are added up

// The products of one group: planes of codes, as int32 [rows][16].
template <int kPlanes>
struct Products {
  alignas(64) int32_t sums[kPlanes][kRows][kPanelRows];
};

template <int kPlanes>
[[gnu::always_inline]] inline void multiply(const int8_t* x, size_t row_bytes, int64_t plane,
                                            const uint8_t* lines, Products<kPlanes>& out) {
  Amx::load_tile<6>(lines, 64);
  Amx::load_tile<4>(x, row_bytes);
  Amx::zero_tile<0>();
  Amx::dot_bytes<0, 4, 6>();
  Amx::store_tile<0>(out.sums[0], sizeof out.sums[0][0]);
  if constexpr (kPlanes == 2) {
    Amx::load_tile<5>(x + plane, row_bytes);
    Amx::zero_tile<1>();
    Amx::dot_bytes<1, 5, 6>();
    Amx::store_tile<1>(out.sums[1], sizeof out.sums[1][0]);
  }
}

template <int kPlanes>
[[gnu::always_inline]] inline __m512 total_of(const Products<kPlanes>& products, int row) {
  __m512i total = _mm512_load_si512(products.sums[0][row]);
  if constexpr (kPlanes == 2) {
    total = _mm512_add_epi32(Amx::times_256(total), _mm512_load_si512(products.sums[1][row]));
  }
  return Amx::to_float(total);
}

// Sixteen rows from `row` on × panel `p` of the strip.
template <int kPlanes, bool kEach>
void tile(const StripArguments& s, int p, int64_t row) {
  const LinearArguments& a = s.a;
  const generic::StripRows<Amx> rows(s, row);
  const generic::StripPanel& panel = s.panels[p];
  const int64_t group = a.format->group;
  const int64_t groups = a.columns / group;
  Products<kPlanes> products[kAhead];
  const auto start = [&](int64_t g) __attribute__((always_inline)) {
    const int64_t k = g * group;
    multiply<kPlanes>(rows.codes + k, static_cast<size_t>(rows.row_bytes), rows.plane,
                      panel.lines + k * kPanelRows, products[g % kAhead]);
  };
  __m512 result[kRows];
  __m512 outer[kRows];
  simd::unroll<kRows>([&](auto r) __attribute__((always_inline)) {
    result[r] = Amx::zero();
    if constexpr (!kEach) outer[r] = Amx::zero();
  });
  const int64_t groups_each = a.layout->group / group;  // to a scale of activations
  int64_t close = groups_each;
  for (int64_t g = 0; g < kAhead - 1 && g < groups; ++g) start(g);
  for (int64_t g = 0; g < groups; ++g) {
    if (g + kAhead - 1 < groups) start(g + kAhead - 1);
    const auto add = [&]<bool kMinimum>() __attribute__((always_inline)) {
      const __m512 scale = Amx::load(panel.scales + g * kPanelRows);
      const __m512 minimum = kMinimum ? Amx::load(panel.minimums + g * kPanelRows) : Amx::zero();
      simd::unroll<kRows>([&](auto r) __attribute__((always_inline)) {
        generic::add_total<Amx, kEach, kMinimum>(
            result[r], total_of(products[g % kAhead], r), scale, minimum,
            rows.sum_codes + r * s.sums.stride + g, rows.scales + r * rows.scales_stride + g);
      });
    };
    a.format->minimum ? add.template operator()<true>() : add.template operator()<false>();
    if constexpr (!kEach) {
      if (--close > 0) continue;
      close = groups_each;
      generic::close_strip_group<Amx, kRows, 1>(result, outer, rows, (g + 1) / groups_each - 1);
    }
  }
  __m512 done[kRows];
  simd::unroll<kRows>([&](auto r) __attribute__((always_inline)) {
    done[r] = kEach ? result[r] : outer[r];
  });
  for (int r = 0; r < kRows; ++r) {
    generic::write_out<Amx>(a, row + r, s.first_panel + p, done[r]);
  }
}

void linear(const LinearArguments& a) {
  if (!generic::has_strips(a) || a.last_row - a.first_row < kRows) {
    generic::linear_with_strips<Amx>(a);
    return;
  }
  const int64_t tiles_end = a.last_row - (a.last_row - a.first_row) % kRows;
  const Amx::Tiles tiles(a.format->group);
  generic::sweep_strips<Amx, true>(
      a, [&]<int kPanels, int kPlanes, bool kEach>(const StripArguments& s) {
        for (int64_t row = a.first_row; row < tiles_end; row += kRows) {
          for (int p = 0; p < kPanels; ++p) tile<kPlanes, kEach>(s, p, row);
        }
      });
  if (tiles_end == a.last_row) return;
  LinearArguments rest = a;
  rest.first_row = tiles_end;
  const int64_t skipped = (tiles_end - a.first_row) * a.y_stride;
  rest.y += skipped;
  if (rest.residual != nullptr) rest.residual += skipped;
  generic::linear_with_strips<Amx>(rest);
}

}  // namespace

const LinearKernels kLinearAmx = {
    Isa::kAmx,
    linear,
    generic::quantize_row<Amx>,
};

}  // namespace adze::ops
