#include "ops/linear/generic.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const LinearKernels kLinearAvx2 = {
    Isa::kAvx2,
    generic::linear<simd::Avx2>,
    generic::quantize_row<simd::Avx2>,
};

}  // namespace adze::ops
