#include "ops/limits/generic.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const LimitKernels kLimitsAvx2 = {
    generic::int8_rounds<simd::Avx2>,
    generic::f32_rounds<simd::Avx2>,
    generic::read_all<simd::Avx2>,
};

}  // namespace adze::ops
