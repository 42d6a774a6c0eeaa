#include "ops/attention/attention.h"

#include <algorithm>
#include <limits>

namespace adze::ops {

int32_t next_segment(std::span<const AttentionRow> rows, int32_t from) {
  int32_t next = -1;
  const int32_t begin = from * kSegmentTokens;
  for (const AttentionRow& row : rows) {
    const auto range = std::partition_point(row.seen.begin(), row.seen.end(),
                                            [&](const KeyRange& r) { return r.to <= begin; });
    if (range == row.seen.end()) continue;
    const int32_t segment = segment_of(std::max(range->from, begin));
    if (next < 0 || segment < next) next = segment;
    if (next == from) break;
  }
  return next;
}

void clear_partials(float* partials, size_t stride, size_t rows, int32_t head_dim) {
  for (size_t r = 0; r < rows; ++r, partials += stride) {
    std::fill_n(partials, partial_floats(head_dim), 0.0f);
    partials[0] = -std::numeric_limits<float>::infinity();
  }
}

std::span<const KernelTable<AttentionKernels>> attention_kernel_tables() {
  static constexpr KernelTable<AttentionKernels> kTables[] = {
#define ADZE_KERNELS(isa, table) {Isa::isa, &(table)},
#include "ops/attention/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const AttentionKernels& attention_kernels(Isa isa) {
  return kernels_for(attention_kernel_tables(), isa);
}

std::string_view cache_dtype_name(CacheDType dtype) {
  return dtype == CacheDType::kF32 ? "f32" : dtype == CacheDType::kBF16 ? "bf16" : "int8";
}

std::optional<CacheDType> cache_dtype_from_name(std::string_view name) {
  for (const CacheDType dtype : {CacheDType::kF32, CacheDType::kBF16, CacheDType::kI8}) {
    if (cache_dtype_name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace adze::ops
