#include "ops/limits/generic.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const LimitKernels kLimitsAvx512 = {
    generic::int8_rounds<simd::Avx512>,
    generic::f32_rounds<simd::Avx512>,
    generic::read_all<simd::Avx512>,
};

}  // namespace adze::ops
