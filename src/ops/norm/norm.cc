#include "ops/norm/norm.h"

namespace adze::ops {

std::span<const KernelTable<NormKernels>> norm_kernel_tables() {
  static constexpr KernelTable<NormKernels> kTables[] = {
#define ADZE_KERNELS(isa, table) {Isa::isa, &(table)},
#include "ops/norm/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const NormKernels& norm_kernels(Isa isa) { return kernels_for(norm_kernel_tables(), isa); }

}  // namespace adze::ops
