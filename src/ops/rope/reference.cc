#include "ops/rope/generic.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const RopeKernels kRopeReference = {generic::rotate<simd::Scalar>};

}  // namespace adze::ops
