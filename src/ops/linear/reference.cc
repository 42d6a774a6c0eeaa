#include "ops/linear/generic.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const LinearKernels kLinearReference = {
    Isa::kReference,
    generic::linear<simd::Scalar>,
    generic::quantize_row<simd::Scalar>,
};

}  // namespace adze::ops
