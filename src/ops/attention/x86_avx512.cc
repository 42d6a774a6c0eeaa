// The attention kernels for AVX-512 with VNNI. With ADZE_EMULATED, test kernels of other names
// whose instructions SIMDe carries out with AVX2.
#include "ops/attention/generic.h"
#include "ops/simd/lanes_avx512.h"

namespace adze::ops {

#ifdef ADZE_EMULATED
ADZE_DEFINE_ATTENTION_KERNEL(attention_f32_avx512_emulated, kAvx512, kF32, LanesAvx512);
ADZE_DEFINE_ATTENTION_KERNEL(attention_bf16_avx512_emulated, kAvx512, kBF16, LanesAvx512);
ADZE_DEFINE_ATTENTION_KERNEL(attention_i8_avx512_emulated, kAvx512, kI8, LanesAvx512);
#else
ADZE_DEFINE_ATTENTION_KERNEL(attention_f32_avx512, kAvx512, kF32, LanesAvx512);
ADZE_DEFINE_ATTENTION_KERNEL(attention_bf16_avx512, kAvx512, kBF16, LanesAvx512);
ADZE_DEFINE_ATTENTION_KERNEL(attention_i8_avx512, kAvx512, kI8, LanesAvx512);
#endif

}  // namespace adze::ops
