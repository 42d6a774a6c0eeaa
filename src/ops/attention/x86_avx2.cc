#include "ops/attention/generic_write.h"
#include "ops/attention/segment.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const AttentionKernels kAttentionAvx2 = {generic::segment<simd::Avx2>, generic::fold<simd::Avx2>,
                                         generic::finish<simd::Avx2>,
                                         generic::write_kv<simd::Avx2>};

}  // namespace adze::ops
