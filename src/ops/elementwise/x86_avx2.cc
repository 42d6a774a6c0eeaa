#include "ops/elementwise/generic.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const ElementwiseKernels kElementwiseAvx2 = generic::Elementwise<simd::Avx2>::kKernels;

}  // namespace adze::ops
