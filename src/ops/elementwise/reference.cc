#include "ops/elementwise/generic.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const ElementwiseKernels kElementwiseReference = generic::Elementwise<simd::Scalar>::kKernels;

}  // namespace adze::ops
