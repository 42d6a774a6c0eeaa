// All kernels against each other, bit for bit, and against the definition in double precision.
#include "ops/linear/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/arena.h"
#include "ops/runnable_kernels.h"

namespace adze::ops {

extern const LinearKernels kLinearEmulated;  // the AVX-512 kernels through SIMDe

namespace {

constexpr DType kWeightTypes[] = {DType::kF32,  DType::kF16,    DType::kBF16,   DType::kQ4_0,
                                  DType::kQ4_1, DType::kQ5_0,   DType::kQ5_1,   DType::kQ8_0,
                                  DType::kQ2_K, DType::kQ3_K,   DType::kQ4_K,   DType::kQ5_K,
                                  DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};

std::vector<NamedKernels<LinearKernels>> runnable() {
  return runnable_kernels(linear_kernel_tables(), kLinearEmulated);
}

// Random blocks with sane scales: the bytes that hold 16-bit floats or exponents are set apart.
std::vector<std::byte> random_blocks(DType dtype, int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  const DTypeInfo& info = dtype_info(dtype);
  const auto count = static_cast<size_t>(rows * columns) / info.block_elements;
  std::vector<std::byte> bytes(count * info.block_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  std::vector<size_t> halves;
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      halves = {0, 2};
      break;
    case DType::kQ2_K:
      halves = {80, 82};
      break;
    case DType::kQ3_K:
      halves = {108};
      break;
    case DType::kQ6_K:
      halves = {208};
      break;
    case DType::kF32:
    case DType::kBF16:
    case DType::kMXFP4:
      break;
    default:
      halves = {0};
  }
  for (size_t b = 0; b < count; ++b) {
    std::byte* block = bytes.data() + b * info.block_bytes;
    for (const size_t offset : halves) {
      const uint16_t bits = f32_to_f16(normal(random));
      std::memcpy(block + offset, &bits, 2);
    }
    if (dtype == DType::kMXFP4) block[0] = static_cast<std::byte>(120 + random() % 8);
    if (dtype == DType::kF32 || dtype == DType::kBF16) {
      const float value = normal(random);
      encode(dtype, {&value, 1}, {block, info.block_bytes});
    }
  }
  return bytes;
}

struct Matrix {
  PackedFormat format;
  int64_t rows;
  int64_t columns;
  std::vector<float> decoded;
  HugeBuffer panels;

  Matrix(DType dtype, int64_t n, int64_t k, uint32_t seed)
      : format(packed_format(dtype)), rows(n), columns(k), decoded(static_cast<size_t>(n * k)) {
    const std::vector<std::byte> blocks = random_blocks(dtype, n, k, seed);
    decode(dtype, blocks, decoded);
    panels = HugeBuffer(packed_bytes(format, n, k));
    const size_t row_bytes = blocks.size() / static_cast<size_t>(n);
    for (int64_t p = 0; p < panel_count(n); ++p) {
      const int64_t count = std::min<int64_t>(kPanelRows, n - p * kPanelRows);
      pack_panel(format, k,
                 std::span(blocks).subspan(static_cast<size_t>(p * kPanelRows) * row_bytes,
                                           static_cast<size_t>(count) * row_bytes),
                 panels.data() + static_cast<size_t>(p) * panel_bytes(format, k));
    }
  }
};

std::vector<float> random_rows(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(rows * columns));
  for (float& value : x) value = normal(random);
  if (rows > 2) std::fill_n(x.begin() + columns, columns, 0.0f);  // a row of zeros
  return x;
}

// Runs rows [first, last) over panels [first_panel, last_panel).
struct Problem {
  const Matrix& w;
  std::vector<float> x;
  int64_t rows;
  QuantizedLayout layout;
  HugeBuffer quantized;
  HugeBuffer scratch;

  // bits: 0: float32 rows
  Problem(const Matrix& matrix, int64_t row_count, int64_t group, int bits,
          const LinearKernels& kernels)
      : w(matrix),
        x(random_rows(row_count, matrix.columns, 7)),
        rows(row_count),
        layout{matrix.columns, group, bits},
        quantized(static_cast<size_t>(row_count) * layout.row_bytes()),
        scratch(linear_scratch_bytes(matrix.columns, row_count)) {
    for (int64_t r = 0; bits > 0 && r < rows; ++r) {
      kernels.quantize_row(layout, x.data() + r * w.columns,
                           quantized.data() + static_cast<size_t>(r) * layout.row_bytes());
    }
  }

  void run(const LinearKernels& kernels, int64_t first, int64_t last, int64_t first_panel,
           int64_t last_panel, const float* bias, const float* residual,
           std::vector<float>& y) const {
    LinearArguments a;
    a.format = &w.format;
    a.panels = w.panels.data();
    a.columns = w.columns;
    a.channels = w.rows;
    a.first_panel = first_panel;
    a.last_panel = last_panel;
    a.x = layout.bits > 0 ? quantized.data() : reinterpret_cast<const std::byte*>(x.data());
    a.layout = layout.bits > 0 ? &layout : nullptr;
    a.x_stride = w.columns;
    a.first_row = first;
    a.last_row = last;
    const int64_t at = first * w.rows + first_panel * kPanelRows;
    a.y = y.data() + at;
    a.y_stride = w.rows;
    if (bias != nullptr) a.bias = bias + first_panel * kPanelRows;
    a.residual = residual == nullptr ? nullptr : residual + at;
    a.scratch = scratch.data();
    kernels.linear(a);
  }

  std::vector<float> whole(const LinearKernels& kernels) const {
    std::vector<float> y(static_cast<size_t>(rows * w.rows));
    run(kernels, 0, rows, 0, panel_count(w.rows), nullptr, nullptr, y);
    return y;
  }
};

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b,
                      const std::string& what) {
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i]))
        << what << " element " << i << ": " << a[i] << " and " << b[i];
  }
}

// Kinds of rows that a weight type takes: 0 stands for float32.
std::vector<int> row_bits(DType dtype) {
  if (scale_group(dtype) == 0) return {0};
  return {0, 8, 16};
}

std::vector<int64_t> activation_groups(DType dtype, int64_t columns) {
  if (dtype == DType::kQ4_K) return {256, columns};
  return {32, 64, 256, columns};
}

TEST(Packed, UnpackedRowsEqualDecoding) {
  for (const DType dtype : kWeightTypes) {
    const Matrix w(dtype, 37, 512, 1);
    std::vector<float> row(512);
    for (const int64_t r : {0, 15, 16, 36}) {
      unpack_row(w.format, 512,
                 w.panels.data() + static_cast<size_t>(r / kPanelRows) * panel_bytes(w.format, 512),
                 static_cast<int>(r % kPanelRows), row.data());
      for (size_t k = 0; k < 512; ++k) {
        ASSERT_EQ(row[k], w.decoded[static_cast<size_t>(r) * 512 + k])
            << dtype_info(dtype).name << " row " << r << " column " << k;
      }
    }
  }
}

TEST(Linear, EveryKernelGivesTheSameBits) {
  for (const DType dtype : kWeightTypes) {
    const Matrix w(dtype, 37, 512, 2);
    for (const int64_t group : activation_groups(dtype, 512)) {
      for (const int bits : row_bits(dtype)) {
        const Problem problem(w, 19, group, bits, kLinearReference);
        const std::vector<float> expected = problem.whole(kLinearReference);
        for (const auto& k : runnable()) {
          expect_same_bits(problem.whole(*k.kernels), expected,
                           std::string(dtype_info(dtype).name) + " " + k.name + " group " +
                               std::to_string(group) + " bits " + std::to_string(bits));
        }
      }
    }
  }
}

// Every row class against every other: rows one by one, in pairs, …, in 33.
TEST(Linear, RowsPanelsBiasAndResidualDoNotChangeBits) {
  for (const DType dtype : {DType::kQ4_1, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kF32}) {
    const Matrix w(dtype, 53, 256, 3);
    for (const auto& k : runnable()) {
      for (const int bits : row_bits(dtype)) {
        const Problem problem(w, 33, 256, bits, *k.kernels);
        const std::vector<float> expected = problem.whole(*k.kernels);
        std::vector<float> residual(expected.size());
        for (size_t i = 0; i < residual.size(); ++i)
          residual[i] = 0.25f * static_cast<float>(i % 7);
        std::vector<float> sums(expected);
        std::vector<float> bias(53);
        for (size_t i = 0; i < bias.size(); ++i) bias[i] = 0.1f * static_cast<float>(i % 11);
        for (size_t i = 0; i < sums.size(); ++i) {
          sums[i] = residual[i] + (expected[i] + bias[i % bias.size()]);
        }
        for (int64_t size = 1; size <= 17; ++size) {
          std::vector<float> pieces(expected.size());
          for (int64_t first = 0; first < 33; first += size) {
            const int64_t last = std::min<int64_t>(33, first + size);
            problem.run(*k.kernels, first, last, 0, 1, bias.data(), residual.data(), pieces);
            problem.run(*k.kernels, first, last, 1, 4, bias.data(), residual.data(), pieces);
          }
          expect_same_bits(pieces, sums,
                           std::string(dtype_info(dtype).name) + " " + k.name + " bits " +
                               std::to_string(bits) + " rows " + std::to_string(size));
        }
      }
    }
  }
}

// The code of column k.
int code_at(const QuantizedLayout& layout, const std::byte* row, int64_t k) {
  const auto* codes = reinterpret_cast<const int8_t*>(row);
  return layout.bits == 8 ? codes[k] : 256 * codes[k] + codes[layout.plane() + k];
}
float scale_at(const QuantizedLayout& layout, const std::byte* row, int64_t k) {
  return reinterpret_cast<const float*>(row + layout.scales_offset())[k / layout.group];
}

// Against Σ x·w in double over what the kernel really multiplies: decoded weights, decoded
// activations.
TEST(Linear, StaysWithinRoundingOfTheExactProduct) {
  for (const DType dtype : kWeightTypes) {
    const Matrix w(dtype, 20, 512, 4);
    for (const int64_t group : activation_groups(dtype, 512)) {
      for (const int bits : row_bits(dtype)) {
        const Problem problem(w, 3, group, bits, kLinearReference);
        const std::vector<float> y = problem.whole(kLinearReference);
        for (int64_t r = 0; r < 3; ++r) {
          const std::byte* row =
              problem.quantized.data() + static_cast<size_t>(r) * problem.layout.row_bytes();
          for (int64_t n = 0; n < 20; ++n) {
            double exact = 0;
            double magnitude = 0;
            for (int64_t k = 0; k < 512; ++k) {
              const double a = bits > 0 ? static_cast<double>(code_at(problem.layout, row, k)) *
                                              scale_at(problem.layout, row, k)
                                        : problem.x[static_cast<size_t>(r * 512 + k)];
              const double term = a * w.decoded[static_cast<size_t>(n * 512 + k)];
              exact += term;
              magnitude += std::fabs(term);
            }
            // Minimums cancel against scale · code: their parts are larger than the terms.
            ASSERT_NEAR(y[static_cast<size_t>(r * 20 + n)], exact, 4e-5 * magnitude + 1e-9)
                << dtype_info(dtype).name << " group " << group << " bits " << bits;
          }
        }
      }
    }
  }
}

// The greatest codes everywhere: no sum may overflow.
TEST(Linear, ExtremeCodesStayExact) {
  for (const DType dtype : kWeightTypes) {
    if (scale_group(dtype) == 0) continue;
    Matrix w(dtype, 16, 512, 6);
    for (const int bits : {8, 16}) {
      for (const float sign : {1.0f, -1.0f}) {
        Problem problem(w, 2, 512, bits, kLinearReference);
        std::fill(problem.x.begin(), problem.x.end(), sign * 3.0f);
        for (int64_t r = 0; r < 2; ++r) {
          kLinearReference.quantize_row(
              problem.layout, problem.x.data() + r * 512,
              problem.quantized.data() + static_cast<size_t>(r) * problem.layout.row_bytes());
        }
        const std::vector<float> expected = problem.whole(kLinearReference);
        for (int64_t n = 0; n < 16; ++n) {
          double exact = 0;
          double magnitude = 0;
          for (int64_t k = 0; k < 512; ++k) {
            const double term = sign * 3.0 * w.decoded[static_cast<size_t>(n * 512 + k)];
            exact += term;
            magnitude += std::fabs(term);
          }
          ASSERT_NEAR(expected[static_cast<size_t>(n)], exact, 4e-5 * magnitude + 1e-9)
              << dtype_info(dtype).name << " bits " << bits;
        }
        for (const auto& k : runnable()) {
          expect_same_bits(problem.whole(*k.kernels), expected, k.name);
        }
      }
    }
  }
}

TEST(Quantize, RowsAreNearestCodesAndTheSameEverywhere) {
  for (const int64_t columns : {576, 80}) {
    const std::vector<float> x = random_rows(3, columns, 11);
    for (const int64_t group : {columns / 18, columns / 4, columns}) {
      if (columns % group != 0) continue;
      for (const int bits : {8, 16}) {
        const QuantizedLayout layout{columns, group, bits};
        std::vector<std::byte> expected(layout.row_bytes());
        for (int r = 0; r < 3; ++r) {
          const float* row = x.data() + r * columns;
          kLinearReference.quantize_row(layout, row, expected.data());
          const auto* sums =
              reinterpret_cast<const int32_t*>(expected.data() + layout.sums_offset());
          int64_t total = 0;
          for (int64_t k = 0; k < columns; ++k) {
            const int code = code_at(layout, expected.data(), k);
            const float scale = scale_at(layout, expected.data(), k);
            EXPECT_LE(std::abs(code), bits == 8 ? 127 : 32639);
            EXPECT_LE(std::fabs(static_cast<float>(code) * scale - row[k]), 0.51f * scale);
            total += code;
          }
          EXPECT_EQ(std::accumulate(sums, sums + layout.plane() / 16, int64_t{0}), total);
          for (const auto& k : runnable()) {
            std::vector<std::byte> out(layout.row_bytes());
            k.kernels->quantize_row(layout, row, out.data());
            const auto used = static_cast<ptrdiff_t>(layout.scales_offset()) + layout.groups() * 4;
            EXPECT_TRUE(std::equal(out.begin(), out.begin() + used, expected.begin()))
                << k.name << " group " << group << " bits " << bits;
          }
        }
      }
    }
  }
}

// Down to the least float: every code stays the nearest one, or the group is zero.
TEST(Quantize, TinyRowsAreZeroWhereTheirScaleHasNoInverse) {
  for (const int bits : {8, 16}) {
    const double greatest = bits == 8 ? 127 : 32639;
    for (int exponent = -149; exponent <= -100; ++exponent) {
      std::vector<float> x(40, 0.0f);
      x[3] = std::ldexp(1.0f, exponent);
      x[17] = -x[3] / 2;
      x[39] = 1.0f;  // of the other group
      const bool zero = x[3] / greatest < std::ldexp(1.0, -126);
      for (const auto& k : runnable()) {
        const QuantizedLayout layout{40, 20, bits};
        std::vector<std::byte> out(layout.row_bytes());
        k.kernels->quantize_row(layout, x.data(), out.data());
        const float scale = scale_at(layout, out.data(), 0);
        EXPECT_EQ(scale == 0.0f, zero) << k.name << " 2^" << exponent << " bits " << bits;
        EXPECT_EQ(code_at(layout, out.data(), 3), zero ? 0 : static_cast<int>(greatest)) << k.name;
        for (const int64_t column : {17, 18}) {
          const double back = static_cast<double>(code_at(layout, out.data(), column)) * scale;
          EXPECT_LE(std::abs(back - x[static_cast<size_t>(column)]),
                    zero ? std::abs(x[static_cast<size_t>(column)]) : 0.51 * scale);
        }
        EXPECT_EQ(code_at(layout, out.data(), 39), static_cast<int>(greatest)) << k.name;
      }
    }
  }
}

TEST(Quantize, WhatIsNotFiniteIsNotLost) {
  for (const int bits : {8, 16}) {
    for (const float bad : {HUGE_VALF, -HUGE_VALF, NAN}) {
      for (const size_t at : {0, 17, 36, 39}) {
        std::vector<float> x(40, 1.0f);
        x[at] = bad;
        for (const auto& k : runnable()) {
          const QuantizedLayout layout{40, 20, bits};
          std::vector<std::byte> out(layout.row_bytes());
          k.kernels->quantize_row(layout, x.data(), out.data());
          for (const int64_t column : {0, 20}) {
            const bool spoiled = static_cast<int64_t>(at) / 20 == column / 20;
            EXPECT_EQ(std::isnan(scale_at(layout, out.data(), column)), spoiled) << k.name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace adze::ops
