#include "ops/limits/generic.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const LimitKernels kLimitsReference = {
    generic::int8_rounds<simd::Scalar>,
    generic::f32_rounds<simd::Scalar>,
    generic::read_all<simd::Scalar>,
};

}  // namespace adze::ops
