// The kernels that tests run: those that this processor can run, and AVX-512's emulated everywhere.
#pragma once

#include <vector>

#include "ops/norm/rms_norm_kernels.h"

namespace adze::ops {

extern const RmsNormKernel rms_norm_avx512_emulated;

inline std::vector<const RmsNormKernel*> rms_norm_kernels_to_test() {
  std::vector<const RmsNormKernel*> kernels = {&rms_norm_avx512_emulated};
  for (const RmsNormKernel* kernel : rms_norm_kernels()) {
    if (isa_available(kernel->isa)) kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace adze::ops
