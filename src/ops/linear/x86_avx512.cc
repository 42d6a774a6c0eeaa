#include "ops/linear/strip.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const LinearKernels kLinearAvx512 = {
    Isa::kAvx512,
    generic::linear_with_strips<simd::Avx512>,
    generic::quantize_row<simd::Avx512>,
};

}  // namespace adze::ops
