#include "ops/attention/generic_write.h"
#include "ops/attention/segment.h"
#include "ops/simd/avx2.h"

namespace adze::ops {

const AttentionKernels kAttentionAvx2 = {generic::segment<simd::Avx2>, generic::combine<simd::Avx2>,
                                         generic::write_kv<simd::Avx2>};

}  // namespace adze::ops
