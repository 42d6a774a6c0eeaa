// Packed weights: panels of 16 output channels, laid out once for all instruction sets.
//
// A panel holds 16 rows of W (the last panel is padded with zeros) as consecutive blocks of
// `block_k` columns (the last block is padded too). Inside a block, codes come first, in lines of
// 64 bytes (see ops/simd/scalar.h), then scales:
//
//   kBits8   64 k: 16 lines of unsigned bytes (code + 128), then per group of 16 or 32 k sixteen
//   scales, then
//            sixteen minimums where there are any
//   kBits4   64 k: per 32 k four nibble lines, line j holding k-quads j (low) and j + 4 (high);
//   then scales, minimums kBits4K  256 k: nibble lines as above; then per 32 k sixteen sub-scales
//   and sixteen sub-minimums as bytes; then
//            sixteen d and sixteen dmin as f16
//   kFloat   1 k: sixteen elements
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace adze::ops {

inline constexpr int kPanelRows = 16;

// Names what lies in panels; another name whenever that changes, for engine files keep them.
inline constexpr std::string_view kPackedLayout = "panels16-1";

enum class WeightFamily : uint8_t { kBits8, kBits4, kBits4K, kFloat };

// How a dtype is packed. What the codes mean: weight = scale · code (+ minimum); kBits8 codes are
// signed.
struct PackedFormat {
  WeightFamily family = WeightFamily::kFloat;
  DType source = DType::kF32;
  int group = 0;            // columns that share a scale: 16 or 32; kFloat: 0
  bool wide_scale = false;  // scales and minimums as f32 instead of f16
  bool minimum = false;
  int code_offset = 0;     // kBits4: weight = scale · (code − code_offset)
  int block_k = 1;         // columns per block
  size_t block_bytes = 0;  // bytes per block of a panel

  // "q4 affine g32 f16": family, scale kind, group.
  std::string text() const;
};

PackedFormat packed_format(DType dtype);

// Columns rounded up to whole blocks of any family, so that activations can be read past the last
// column.
int64_t padded_columns(int64_t columns);
int64_t panel_count(int64_t rows);
size_t panel_bytes(const PackedFormat& format, int64_t columns);
inline size_t packed_bytes(const PackedFormat& format, int64_t rows, int64_t columns) {
  return static_cast<size_t>(panel_count(rows)) * panel_bytes(format, columns);
}

// Packs one panel. `rows` holds up to 16 encoded rows of `columns` elements one after another.
// `panel` has panel_bytes() bytes, aligned to 64.
void pack_panel(const PackedFormat& format, int64_t columns, std::span<const std::byte> rows,
                std::byte* panel);

// Row `channel` of a panel as float32, exactly as decode() gives it.
void unpack_row(const PackedFormat& format, int64_t columns, const std::byte* panel, int channel,
                float* out);

}  // namespace adze::ops
