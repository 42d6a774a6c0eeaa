// Root-mean-square normalization (Zhang and Sennrich, 2019).
#pragma once

#include "base/cpu.h"

namespace adze::ops {

// out[i] = x[i] / √(Σ x² / columns + epsilon) · (weight[i] + weight_offset), for one row; Gemma's
// checkpoints store the weight minus one, the others take an offset of 0. `out` may be `x`. The sum
// of squares is 16 partial sums of fused multiply-adds (by index mod 16) added as a tree: the same
// bits on every instruction set. Thread-safe.
using RmsNormFunction = void (*)(const float* x, const float* weight, int columns, float epsilon,
                                 float weight_offset, float* out);

struct RmsNormKernel {
  const char* name;
  Isa isa;
  RmsNormFunction run;
};

const RmsNormKernel& select_rms_norm(Isa isa);

}  // namespace adze::ops
