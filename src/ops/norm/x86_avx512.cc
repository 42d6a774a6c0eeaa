// RMSNorm for AVX-512. With ADZE_EMULATED, a test kernel of another name whose instructions SIMDe
// carries out with AVX2.
#include "ops/norm/generic.h"
#include "ops/simd/lanes_avx512.h"

namespace adze::ops {

#ifdef ADZE_EMULATED
ADZE_DEFINE_RMS_NORM_KERNEL(rms_norm_avx512_emulated, kAvx512, LanesAvx512);
#else
ADZE_DEFINE_RMS_NORM_KERNEL(rms_norm_avx512, kAvx512, LanesAvx512);
#endif

}  // namespace adze::ops
