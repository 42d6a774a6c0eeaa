// The kernels that tests run: those that this processor can run, and AVX-512's emulated by AVX2.
#pragma once

#include <vector>

#include "ops/attention/attention_kernels.h"

namespace adze::ops {

extern const AttentionKernel attention_f32_avx512_emulated;
extern const AttentionKernel attention_bf16_avx512_emulated;
extern const AttentionKernel attention_i8_avx512_emulated;

inline std::vector<const AttentionKernel*> kernels_to_test(DType dtype) {
  std::vector<const AttentionKernel*> kernels;
  for (const AttentionKernel* kernel : attention_kernels()) {
    if (kernel->dtype == dtype && isa_available(kernel->isa)) kernels.push_back(kernel);
  }
  for (const AttentionKernel* kernel :
       {&attention_f32_avx512_emulated, &attention_bf16_avx512_emulated,
        &attention_i8_avx512_emulated}) {
    if (kernel->dtype == dtype && isa_available(Isa::kAvx2)) kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace adze::ops
