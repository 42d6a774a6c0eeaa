#include "ops/norm/generic.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const NormKernels kNormAvx512 = {generic::rms_norm<simd::Avx512>};

}  // namespace adze::ops
