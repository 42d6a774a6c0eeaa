#include "ops/rope/rope.h"

#include <cmath>

namespace adze::ops {

RopeFrequencies::RopeFrequencies(double theta, int32_t rotary_dim) {
  for (int32_t i = 0; i < rotary_dim / 2; ++i) {
    frequencies_.push_back(std::pow(theta, -2.0 * i / rotary_dim));
  }
}

void RopeFrequencies::fill(int64_t position, float* out) const {
  const size_t half = frequencies_.size();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    out[i] = static_cast<float>(std::cos(angle));
    out[half + i] = static_cast<float>(std::sin(angle));
  }
}

std::span<const KernelTable<RopeKernels>> rope_kernel_tables() {
  static constexpr KernelTable<RopeKernels> kTables[] = {
#define ADZE_KERNELS(isa, table) {Isa::isa, &table},
#include "ops/rope/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const RopeKernels& rope_kernels(Isa isa) { return kernels_for(rope_kernel_tables(), isa); }

}  // namespace adze::ops
