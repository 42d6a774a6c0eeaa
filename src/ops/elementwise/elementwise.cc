#include "ops/elementwise/elementwise.h"

namespace adze::ops {

std::span<const KernelTable<ElementwiseKernels>> elementwise_kernel_tables() {
  static constexpr KernelTable<ElementwiseKernels> kTables[] = {
#define ADZE_KERNELS(isa, table) {Isa::isa, &(table)},
#include "ops/elementwise/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const ElementwiseKernels& elementwise_kernels(Isa isa) {
  return kernels_for(elementwise_kernel_tables(), isa);
}

}  // namespace adze::ops
