#include "ops/rope/rope.h"

#include <cmath>
#include <numbers>

namespace adze::ops {

namespace {

// The scheme of RopeSettings for one frequency.
double scaled(double frequency, const RopeSettings& settings) {
  if (settings.original_context == 0) return frequency / settings.factor;
  const double turns = settings.original_context * frequency / (2 * std::numbers::pi);
  if (turns > settings.high_frequency_factor) return frequency;
  if (turns < settings.low_frequency_factor) return frequency / settings.factor;
  const double keep = (turns - settings.low_frequency_factor) /
                      (settings.high_frequency_factor - settings.low_frequency_factor);
  return keep * frequency + (1 - keep) * frequency / settings.factor;
}

}  // namespace

RopeFrequencies::RopeFrequencies(const RopeSettings& settings) {
  for (int32_t i = 0; i < settings.rotary_dim / 2; ++i) {
    const double frequency = std::pow(settings.theta, -2.0 * i / settings.rotary_dim);
    frequencies_.push_back(scaled(frequency, settings));
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
#define ADZE_KERNELS(isa, table) {Isa::isa, &(table)},
#include "ops/rope/kernels.inc"
#undef ADZE_KERNELS
  };
  return kTables;
}

const RopeKernels& rope_kernels(Isa isa) { return kernels_for(rope_kernel_tables(), isa); }

}  // namespace adze::ops
