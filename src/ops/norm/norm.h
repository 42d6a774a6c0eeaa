// Normalization of rows.
#pragma once

#include <cstdint>
#include <span>

#include "ops/kernel_table.h"

namespace adze::ops {

// out[i] = (x[i] / √(mean(x²) + epsilon)) · weight[i] for one row of n (Zhang and Sennrich, 2019).
// Squares are summed in 16 interleaved lanes, the lanes in halves: the same bits on every
// instruction set. `out` may be `x`.
struct NormKernels {
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int64_t n,
                   float* out) = nullptr;
};

std::span<const KernelTable<NormKernels>> norm_kernel_tables();
const NormKernels& norm_kernels(Isa isa);

extern const NormKernels kNormReference;
extern const NormKernels kNormAvx2;
extern const NormKernels kNormAvx512;

}  // namespace adze::ops
