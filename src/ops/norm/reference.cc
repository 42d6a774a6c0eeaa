#include "ops/norm/generic.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const NormKernels kNormReference = {generic::rms_norm<simd::Scalar>};

}  // namespace adze::ops
