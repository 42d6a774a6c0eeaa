#include "ops/attention/segment.h"
#include "ops/simd/scalar.h"

namespace adze::ops {

const AttentionKernels kAttentionReference = {generic::segment<simd::Scalar>,
                                              generic::combine<simd::Scalar>};

}  // namespace adze::ops
