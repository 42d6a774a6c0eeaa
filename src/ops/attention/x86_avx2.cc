// The attention kernels for AVX2 and FMA.
#include "ops/attention/generic.h"
#include "ops/simd/lanes_avx2.h"

namespace adze::ops {

ADZE_DEFINE_ATTENTION_KERNEL(attention_f32_avx2, kAvx2, kF32, LanesAvx2);
ADZE_DEFINE_ATTENTION_KERNEL(attention_bf16_avx2, kAvx2, kBF16, LanesAvx2);
ADZE_DEFINE_ATTENTION_KERNEL(attention_i8_avx2, kAvx2, kI8, LanesAvx2);

}  // namespace adze::ops
