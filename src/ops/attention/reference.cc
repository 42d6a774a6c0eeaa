#include "ops/attention/generic_write.h"
#include "ops/attention/segment.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const AttentionKernels kAttentionReference = {
    generic::segment<simd::Scalar>, generic::fold<simd::Scalar>, generic::finish<simd::Scalar>,
    generic::write_kv<simd::Scalar>};

}  // namespace adze::ops
