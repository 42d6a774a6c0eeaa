#include "ops/attention/attention.h"

namespace adze::ops {

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
