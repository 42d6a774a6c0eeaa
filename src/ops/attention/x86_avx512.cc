#include "ops/attention/generic_write.h"
#include "ops/attention/segment.h"
#include "ops/simd/avx512.h"

namespace adze::ops {

const AttentionKernels kAttentionAvx512 = {
    generic::segment<simd::Avx512>, generic::fold<simd::Avx512>, generic::finish<simd::Avx512>,
    generic::write_kv<simd::Avx512>};

}  // namespace adze::ops
