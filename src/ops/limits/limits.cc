#include "ops/limits/limits.h"

namespace adze::ops {

std::span<const KernelTable<LimitKernels>> limit_kernel_tables() {
  static constexpr KernelTable<LimitKernels> kTables[] = {
#define ADZE_KERNELS(isa, table) {Isa::isa, &(table)},
#include "ops/limits/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const LimitKernels& limit_kernels(Isa isa) { return kernels_for(limit_kernel_tables(), isa); }

}  // namespace adze::ops
