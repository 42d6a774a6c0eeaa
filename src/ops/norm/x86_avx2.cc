#include "ops/norm/generic.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const NormKernels kNormAvx2 = {generic::rms_norm<simd::Avx2>};

}  // namespace adze::ops
