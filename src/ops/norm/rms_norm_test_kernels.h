// The kernels that tests run: those that this processor can run, and AVX-512's emulated by AVX2.
#pragma once

#include <vector>

#include "ops/norm/rms_norm_kernels.h"

namespace adze::ops {

extern const RmsNormKernel rms_norm_avx512_emulated;

inline std::vector<const RmsNormKernel*> rms_norm_kernels_to_test() {
  std::vector<const RmsNormKernel*> kernels;
  for (const RmsNormKernel* kernel : rms_norm_kernels()) {
    if (isa_available(kernel->isa)) kernels.push_back(kernel);
  }
  if (isa_available(Isa::kAvx2)) kernels.push_back(&rms_norm_avx512_emulated);
  return kernels;
}

}  // namespace adze::ops
