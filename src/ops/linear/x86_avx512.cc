#include "ops/linear/generic.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const LinearKernels kLinearAvx512 = {
    Isa::kAvx512,
    generic::linear<simd::Avx512>,
    generic::quantize_row<simd::Avx512>,
};

}  // namespace adze::ops
