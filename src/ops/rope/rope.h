// Rotary position embedding (Su et al., 2021), half-split pairs: dimension i turns with i +
// rotary_dim / 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/kernel_table.h"

namespace adze::ops {

// How fast each pair of dimensions turns. Two settings that compare equal give equal angles.
struct RopeSettings {
  int32_t rotary_dim = 0;
  double theta = 10000.0;  // frequency i is theta^(−2i / rotary_dim)
  // Longer contexts than trained for: frequencies are divided by `factor`. With an original
  // context, Llama 3.1's scheme: only those whose wavelength is above original_context /
  // low_frequency_factor are; above original_context / high_frequency_factor a blend.
  double factor = 1.0;
  double original_context = 0.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;

  bool operator==(const RopeSettings&) const = default;
};

// Angles per position. Immutable, thread-safe.
class RopeFrequencies {
 public:
  explicit RopeFrequencies(const RopeSettings& settings);
  int32_t rotary_dim() const { return 2 * static_cast<int32_t>(frequencies_.size()); }
  // Writes rotary_dim / 2 cosines, then as many sines, computed in double precision.
  void fill(int64_t position, float* out) const;

 private:
  std::vector<double> frequencies_;
};

struct RopeKernels {
  // Rotates `heads` heads of head_dim floats one after another. `table` is one row as
  // RopeFrequencies::fill() writes it; dimensions past rotary_dim stay. `out` may be `x`. No
  // operation is fused: the same bits on every instruction set.
  void (*rotate)(const float* table, int32_t rotary_dim, int32_t head_dim, int32_t heads,
                 const float* x, float* out) = nullptr;
};

std::span<const KernelTable<RopeKernels>> rope_kernel_tables();
const RopeKernels& rope_kernels(Isa isa);

// The tables, one per kernel file.
extern const RopeKernels kRopeReference;
extern const RopeKernels kRopeAvx2;
extern const RopeKernels kRopeAvx512;

}  // namespace adze::ops
