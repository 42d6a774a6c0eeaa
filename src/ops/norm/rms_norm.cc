#include "ops/norm/rms_norm.h"

#include <cassert>
#include <cmath>
#include <cstddef>

#include "ops/norm/rms_norm_kernels.h"

namespace adze::ops {
namespace {

constexpr size_t kLanes = 16;

// Plain scalar code in the order that rms_norm.h states: what every other kernel must equal bit for
// bit.
void run_reference(const float* x, const float* weight, int columns, float epsilon,
                   float weight_offset, float* out) {
  const size_t n = static_cast<size_t>(columns);
  float lanes[kLanes] = {};
  for (size_t i = 0; i < n; ++i) lanes[i % kLanes] = std::fma(x[i], x[i], lanes[i % kLanes]);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  const float inverse = 1.0f / std::sqrt(lanes[0] / static_cast<float>(columns) + epsilon);
  for (size_t i = 0; i < n; ++i) out[i] = x[i] * inverse * (weight[i] + weight_offset);
}

#define ADZE_RMS_NORM_KERNEL(name, isa) &name,
constexpr const RmsNormKernel* kKernels[] = {
#include "ops/norm/kernels.inc"
};
#undef ADZE_RMS_NORM_KERNEL

}  // namespace

const RmsNormKernel rms_norm_reference = {"rms_norm_reference", Isa::kReference, run_reference};

std::span<const RmsNormKernel* const> rms_norm_kernels() { return kKernels; }

const RmsNormKernel& select_rms_norm(Isa isa) {
  for (const RmsNormKernel* kernel : kKernels) {
    if (kernel->isa == isa) return *kernel;
  }
  assert(false);
  return rms_norm_reference;
}

}  // namespace adze::ops
