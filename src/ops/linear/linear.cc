#include "ops/linear/linear.h"

#include <fmt/format.h>

#include <cassert>

namespace adze::ops {

size_t linear_scratch_bytes(int64_t columns) {
  return static_cast<size_t>(padded_columns(columns)) * kPanelRows * sizeof(float);
}

std::string LinearKernels::describe(const PackedFormat& format, bool quantized_rows) const {
  return fmt::format("{}: {} × {}", isa_name(isa), format.text(), quantized_rows ? "int8" : "f32");
}

void LinearKernels::quantize_row(const QuantizedLayout& layout, const float* x, std::byte* out,
                                 float* rest) const {
  quantize_plane(layout, x, out, layout.planes == 2 ? rest : nullptr);
  if (layout.planes == 2) quantize_plane(layout, rest, out + layout.plane_bytes(), nullptr);
}

const LinearKernels& linear_kernels(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return kLinearReference;
    case Isa::kAvx2:
      return kLinearAvx2;
    case Isa::kAvx512:
      return kLinearAvx512;
  }
  assert(false && "unknown ISA");
  return kLinearReference;
}

}  // namespace adze::ops
