#include "ops/norm/norm.h"

namespace adze::ops {

const NormKernels& norm_kernels(Isa isa) {
  if (isa == Isa::kAvx512) return kNormAvx512;
  return isa == Isa::kAvx2 ? kNormAvx2 : kNormReference;
}

}  // namespace adze::ops
