#include "ops/linear/linear.h"

#include <fmt/core.h>

#include <algorithm>

namespace adze::ops {

int64_t QuantizedLayout::plane() const { return padded_columns(columns); }

int64_t QuantizedLayout::groups() const { return columns / group; }

size_t QuantizedLayout::sums_offset() const { return static_cast<size_t>(plane() * (bits / 8)); }

size_t QuantizedLayout::scales_offset() const {
  return sums_offset() + static_cast<size_t>(plane() / 16) * sizeof(int32_t);
}

size_t QuantizedLayout::row_bytes() const {
  return (scales_offset() + static_cast<size_t>(groups()) * sizeof(float) + 63) / 64 * 64;
}

size_t linear_scratch_bytes(int64_t columns, int64_t rows) {
  const int64_t padded = padded_columns(columns);
  const int64_t floats = padded * kPanelRows * static_cast<int64_t>(sizeof(float));
  // strip.h: two panels as bytes, with scales and minimums per 16 columns, and per row two sums.
  const int64_t strips = 2 * padded * kPanelRows + 2 * 2 * floats / 16;
  const int64_t sums = rows * padded / 16 * static_cast<int64_t>(2 * sizeof(float));
  return static_cast<size_t>(std::max(floats, strips + sums));
}

std::string LinearKernels::describe(const PackedFormat& format,
                                    const QuantizedLayout* layout) const {
  return fmt::format("{}: {} × {}", isa_name(isa), format.text(),
                     layout == nullptr ? "f32" : fmt::format("int{}", layout->bits));
}

std::span<const KernelTable<LinearKernels>> linear_kernel_tables() {
  static constexpr KernelTable<LinearKernels> kTables[] = {
#define ADZE_KERNELS(isa, table) {Isa::isa, &(table)},
#include "ops/linear/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const LinearKernels& linear_kernels(Isa isa) { return kernels_for(linear_kernel_tables(), isa); }

}  // namespace adze::ops
