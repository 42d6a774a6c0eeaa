// The kernels behind rms_norm.h, for tests.
#pragma once

#include <span>

#include "ops/norm/rms_norm.h"

namespace adze::ops {

#define ADZE_RMS_NORM_KERNEL(name, isa) extern const RmsNormKernel name;
#include "ops/norm/kernels.inc"
#undef ADZE_RMS_NORM_KERNEL

// Every kernel of kernels.inc.
std::span<const RmsNormKernel* const> rms_norm_kernels();

}  // namespace adze::ops
