#include "ops/elementwise/generic.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const ElementwiseKernels kElementwiseAvx512 = generic::Elementwise<simd::Avx512>::kKernels;

}  // namespace adze::ops
