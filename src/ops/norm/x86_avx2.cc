// RMSNorm for AVX2 and FMA.
#include "ops/norm/generic.h"
#include "ops/simd/lanes_avx2.h"

namespace adze::ops {

ADZE_DEFINE_RMS_NORM_KERNEL(rms_norm_avx2, kAvx2, LanesAvx2);

}  // namespace adze::ops
