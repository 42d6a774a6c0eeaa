// Y = X·Wᵀ for packed weights W [N, K] and float32 or integer rows X.
//
// Rounding: all kernels of an operation compute each output in one order, so that neither the
// number of rows, nor the tile, nor the thread, nor the instruction set changes a bit. Integer
// rows: an exact int32 sum per weight group, then fma(sum, scale, inner) and, with minimums, fma(Σ
// codes, minimum, inner), groups in ascending k; at the end of every activation group outer =
// fma(inner, activation scale, outer). (kBits4K: the exact sums span 256 k; with 16-bit codes one
// of the high and one of the low bytes, joined as fma(high, 256, low).) float32 rows: one fma per
// k, ascending, over weights decoded to float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/kernel_table.h"
#include "ops/linear/packed.h"

namespace adze::ops {

// Integer activations of a row: codes of 8 or 16 bits, their sums per 16, and a scale per `group`
// columns; an element is code · scale. Codes of 16 bits lie as two planes of bytes, high and low:
// code = 256 · high + low, both signed.
struct QuantizedLayout {
  int64_t columns = 0;
  int64_t group = 0;  // divides `columns`
  int bits = 8;       // 8: |code| ≤ 127; 16: |code| ≤ 127 · 256 + 127

  // Not inline: a kernel file must not leave a copy behind (scripts/check_kernel_symbols).
  int64_t plane() const;  // bytes of a plane
  int64_t groups() const;
  size_t sums_offset() const;
  size_t scales_offset() const;
  size_t row_bytes() const;  // a multiple of 64
};

// One operand pair. Rows are [first_row, last_row) of x, channels those of panels [first_panel,
// last_panel). `y` is where the result of the first row and the first panel's first channel goes;
// `bias` and `residual` likewise. y = residual + (x·Wᵀ + bias).
struct LinearArguments {
  const PackedFormat* format = nullptr;
  const std::byte* panels = nullptr;  // of the whole matrix
  int64_t columns = 0;                // K
  int64_t channels = 0;               // N
  int64_t first_panel = 0;
  int64_t last_panel = 0;
  const std::byte* x = nullptr;             // QuantizedLayout rows, or float32 [rows, x_stride]
  const QuantizedLayout* layout = nullptr;  // null: float32 rows
  int64_t x_stride = 0;                     // floats between float32 rows
  int64_t first_row = 0;
  int64_t last_row = 0;
  float* y = nullptr;
  int64_t y_stride = 0;             // floats between rows of y and of the residual
  const float* bias = nullptr;      // of each channel; or null
  const float* residual = nullptr;  // added to the result, same layout as y (may be y); or null
  std::byte* scratch = nullptr;     // linear_scratch_bytes(), aligned to 64
};

// For calls with at most `rows` rows.
size_t linear_scratch_bytes(int64_t columns, int64_t rows);

// The kernels of one instruction set. Thread-safe; the caller splits panels and rows among threads.
struct LinearKernels {
  Isa isa = Isa::kReference;
  void (*linear)(const LinearArguments&) = nullptr;
  // A row of float32 to codes: scale = max |x| / greatest code, code = round(x / scale) to nearest
  // even. The scale of a group with an element that is not finite is NaN, and so is every product;
  // a scale below 2⁻¹²⁶, whose inverse would overflow, is 0 with codes of 0.
  void (*quantize_row)(const QuantizedLayout& layout, const float* x, std::byte* out) = nullptr;
  // "q4 affine g32 f16 × int16"; null: float32 rows.
  std::string describe(const PackedFormat& format, const QuantizedLayout* layout) const;
};

std::span<const KernelTable<LinearKernels>> linear_kernel_tables();
const LinearKernels& linear_kernels(Isa isa);

// The tables, one per kernel file.
extern const LinearKernels kLinearReference;
extern const LinearKernels kLinearAvx2;
extern const LinearKernels kLinearAvx512;
extern const LinearKernels kLinearAmx;

}  // namespace adze::ops
