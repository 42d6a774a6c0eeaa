#include "ops/rope/generic.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const RopeKernels kRopeAvx512 = {generic::rotate<simd::Avx512>};

}  // namespace adze::ops
