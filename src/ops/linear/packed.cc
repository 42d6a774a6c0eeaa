#include "ops/linear/packed.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

namespace adze::ops {
namespace {

constexpr int kLine = 64;
constexpr int kBlock = 64;        // columns per block of kBits8 and kBits4
constexpr int kSuperBlock = 256;  // columns per block of kBits4K

// f16 scales that come from f16 in the file convert back without loss; the products of K-quants
// need f32.
bool needs_wide_scale(DType dtype) {
  return dtype != DType::kQ5_0 && dtype != DType::kQ5_1 && dtype != DType::kQ8_0 &&
         dtype != DType::kIQ4_NL;
}

struct PackedBlock {
  const PackedFormat& format;
  std::byte* bytes;

  // Four codes of `channel` from column `k` of the block on; `k` is a multiple of 4.
  void set_codes(int channel, int k, const int16_t* codes) const {
    const int offset = format.family == WeightFamily::kBits8 ? 128 : format.code_offset;
    uint32_t four = 0;
    for (int i = 0; i < 4; ++i) {
      four |= static_cast<uint32_t>((codes[i] + offset) & 255) << (8 * i);
    }
    std::byte* line = bytes + 4 * channel;
    if (format.family == WeightFamily::kBits8) {
      line += k / 4 * kLine;
    } else {
      const int quad = k % 32 / 4;
      line += k / 32 * 256 + quad % 4 * kLine;
      uint32_t other;  // the nibbles of the line's other quad
      std::memcpy(&other, line, 4);
      four = other | four << (quad / 4 * 4);
    }
    std::memcpy(line, &four, 4);
  }

  void set_scale(int channel, int group, float scale, float minimum) const {
    const int groups = format.block_k / format.group;
    const size_t codes = format.family == WeightFamily::kBits8 ? 1024 : 512;
    set_float(codes, channel, group, scale);
    if (format.minimum) {
      const size_t width = format.wide_scale ? 4 : 2;
      set_float(codes + width * kPanelRows * static_cast<size_t>(groups), channel, group, minimum);
    }
  }

 private:
  void set_float(size_t base, int channel, int group, float value) const {
    const auto index = static_cast<size_t>(group * kPanelRows + channel);
    if (format.wide_scale) {
      std::memcpy(bytes + base + 4 * index, &value, 4);
    } else {
      const uint16_t half = f32_to_f16(value);
      std::memcpy(bytes + base + 2 * index, &half, 2);
    }
  }
};

void pack_sub_scales(const std::byte* source, int channel, std::byte* block) {
  const SubScales scales = q4_k_sub_scales(source);
  for (int g = 0; g < 8; ++g) {
    block[2048 + 32 * g + channel] = static_cast<std::byte>(scales.sub_scale[g]);
    block[2048 + 32 * g + kPanelRows + channel] = static_cast<std::byte>(scales.sub_minimum[g]);
  }
  std::memcpy(block + 2304 + 2 * channel, &scales.d, 2);
  std::memcpy(block + 2336 + 2 * channel, &scales.dmin, 2);
}

// Q4_0, Q4_1: a source block's bytes pair elements j and j + 16, just as a nibble line pairs quads
// j and j + 4: four bytes of a block are one channel's part of a line. Q8_0: four codes likewise.
bool pack_row_by_quads(const PackedFormat& format, int64_t columns, const std::byte* row,
                       int channel, std::byte* panel) {
  const bool nibbles = format.family == WeightFamily::kBits4;
  if (!nibbles && format.source != DType::kQ8_0) return false;
  const DTypeInfo& type = dtype_info(format.source);
  const size_t header = format.minimum ? 4 : 2;  // f16 scale and minimum
  const size_t quads = nibbles ? 4 : 8;
  const size_t codes = nibbles ? 512 : 1024;
  for (int64_t k = 0; k < columns; k += 32, row += type.block_bytes) {
    std::byte* block = panel + static_cast<size_t>(k / kBlock) * format.block_bytes;
    const auto half = static_cast<size_t>(k % kBlock / 32);
    std::byte* line = block + half * quads * kLine + 4 * static_cast<size_t>(channel);
    for (size_t q = 0; q < quads; ++q, line += kLine) {
      uint32_t four;
      std::memcpy(&four, row + header + 4 * q, 4);
      if (!nibbles) four ^= 0x80808080u;  // signed codes to code + 128
      std::memcpy(line, &four, 4);
    }
    std::byte* scale = block + codes + half * 2 * kPanelRows + 2 * static_cast<size_t>(channel);
    std::memcpy(scale, row, 2);
    if (format.minimum) std::memcpy(scale + 4 * kPanelRows, row + 2, 2);
  }
  return true;
}

void pack_quantized_row(const PackedFormat& format, int64_t columns, const std::byte* row,
                        int channel, std::byte* panel) {
  if (pack_row_by_quads(format, columns, row, channel, panel)) return;
  const DTypeInfo& type = dtype_info(format.source);
  const int elements = static_cast<int>(type.block_elements);
  BlockParts parts;
  for (int64_t k = 0; k < columns; k += elements, row += type.block_bytes) {
    split_block(format.source, row, parts);
    for (int i = 0; i < elements; i += 4) {
      const PackedBlock block{
          format, panel + static_cast<size_t>((k + i) / format.block_k) * format.block_bytes};
      const int within = static_cast<int>((k + i) % format.block_k);
      block.set_codes(channel, within, parts.codes + i);
      if (format.family != WeightFamily::kBits4K && i % format.group == 0) {
        const int g = i / format.group;
        block.set_scale(channel, within / format.group, parts.scale[g], parts.minimum[g]);
      }
    }
    if (format.family == WeightFamily::kBits4K) {
      pack_sub_scales(row, channel,
                      panel + static_cast<size_t>(k / kSuperBlock) * format.block_bytes);
    }
  }
}

}  // namespace

std::string PackedFormat::text() const {
  const char* kind = minimum ? "affine" : "symmetric";
  switch (family) {
    case WeightFamily::kBits8:
      return fmt::format("8-bit {} g{} {}", kind, group, wide_scale ? "f32" : "f16");
    case WeightFamily::kBits4:
      return fmt::format("4-bit {} g{} f16", kind, group);
    case WeightFamily::kBits4K:
      return "4-bit two-level g32 of 256";
    case WeightFamily::kFloat:
      return std::string(dtype_info(source).name);
  }
  return "";
}

PackedFormat packed_format(DType dtype) {
  PackedFormat format;
  format.source = dtype;
  if (scale_group(dtype) == 0) {
    assert(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16);
    format.block_bytes = kPanelRows * static_cast<size_t>(dtype_info(dtype).block_bytes);
    return format;
  }
  format.group = scale_group(dtype);
  format.minimum = has_minimum(dtype);
  if (dtype == DType::kQ4_K) {
    format.family = WeightFamily::kBits4K;
    format.block_k = kSuperBlock;
    format.block_bytes = 2048 + 8 * 2 * kPanelRows + 2 * 2 * kPanelRows;
    return format;
  }
  const bool four_bits = dtype == DType::kQ4_0 || dtype == DType::kQ4_1;
  format.family = four_bits ? WeightFamily::kBits4 : WeightFamily::kBits8;
  format.code_offset = dtype == DType::kQ4_0 ? 8 : 0;
  format.wide_scale = !four_bits && needs_wide_scale(dtype);
  format.block_k = kBlock;
  const size_t scale_bytes =
      static_cast<size_t>(kPanelRows * kBlock / format.group) * (format.wide_scale ? 4 : 2);
  format.block_bytes = (four_bits ? 512 : 1024) + scale_bytes * (format.minimum ? 2 : 1);
  return format;
}

int64_t padded_columns(int64_t columns) {
  return (columns + kSuperBlock - 1) / kSuperBlock * kSuperBlock;
}

int64_t panel_count(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

size_t panel_bytes(const PackedFormat& format, int64_t columns) {
  const int64_t blocks = (columns + format.block_k - 1) / format.block_k;
  return static_cast<size_t>(blocks) * format.block_bytes;
}

void pack_panel(const PackedFormat& format, int64_t columns, std::span<const std::byte> rows,
                std::byte* panel) {
  std::memset(panel, 0, panel_bytes(format, columns));
  const DTypeInfo& type = dtype_info(format.source);
  const size_t row_bytes = static_cast<size_t>(columns) / type.block_elements * type.block_bytes;
  const int count = static_cast<int>(rows.size() / row_bytes);
  for (int channel = 0; channel < count; ++channel) {
    const std::byte* row = rows.data() + static_cast<size_t>(channel) * row_bytes;
    if (format.family != WeightFamily::kFloat) {
      pack_quantized_row(format, columns, row, channel, panel);
      continue;
    }
    const size_t width = type.block_bytes;
    for (size_t k = 0; k < static_cast<size_t>(columns); ++k) {
      std::memcpy(panel + k * format.block_bytes + width * static_cast<size_t>(channel),
                  row + k * width, width);
    }
  }
}

void unpack_row(const PackedFormat& format, int64_t columns, const std::byte* panel, int channel,
                float* out) {
  const auto half_at = [](const std::byte* at, int index) {
    uint16_t bits;
    std::memcpy(&bits, at + 2 * index, 2);
    return f16_to_f32(bits);
  };
  for (int64_t k = 0; k < columns; ++k) {
    const std::byte* block = panel + static_cast<size_t>(k / format.block_k) * format.block_bytes;
    const int within = static_cast<int>(k % format.block_k);
    if (format.family == WeightFamily::kFloat) {
      const size_t width = dtype_info(format.source).block_bytes;
      decode(format.source, std::span(block + width * static_cast<size_t>(channel), width),
             std::span(out + k, 1));
      continue;
    }
    const int group = within / format.group;
    int code = 0;
    if (format.family == WeightFamily::kBits8) {
      code = std::to_integer<int>(block[within / 4 * kLine + 4 * channel + within % 4]) - 128;
    } else {
      const int quad = within % 32 / 4;
      const std::byte pair = block[within / 32 * 256 + quad % 4 * kLine + 4 * channel + within % 4];
      code = (std::to_integer<int>(pair) >> (quad / 4 * 4) & 15) - format.code_offset;
    }
    float scale;
    float minimum = 0;
    if (format.family == WeightFamily::kBits4K) {
      const std::byte* sub = block + 2048 + 32 * group + channel;
      scale = half_at(block + 2304, channel) * static_cast<float>(std::to_integer<int>(sub[0]));
      minimum = -(half_at(block + 2336, channel) *
                  static_cast<float>(std::to_integer<int>(sub[kPanelRows])));
    } else {
      const size_t width = format.wide_scale ? 4 : 2;
      const std::byte* scales = block + (format.family == WeightFamily::kBits8 ? 1024 : 512);
      const std::byte* minimums = scales + width * kPanelRows * (kBlock / format.group);
      const int index = group * kPanelRows + channel;
      const auto read = [&](const std::byte* at) {
        if (!format.wide_scale) return half_at(at, index);
        float value;
        std::memcpy(&value, at + 4 * index, 4);
        return value;
      };
      scale = read(scales);
      if (format.minimum) minimum = read(minimums);
    }
    out[k] = scale * static_cast<float>(code);
    if (format.minimum) out[k] += minimum;
  }
}

}  // namespace adze::ops
