#include "ops/rope/generic.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const RopeKernels kRopeAvx2 = {generic::rotate<simd::Avx2>};

}  // namespace adze::ops
