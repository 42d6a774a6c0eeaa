// Rotary position embedding (Su et al., 2021), half-split pairs: dimension i turns with i +
// rotary_dim / 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/kernel_table.h"

namespace adze::ops {

// Angles per position: frequency i is theta^(−2i / rotary_dim). Immutable, thread-safe.
class RopeFrequencies {
 public:
  RopeFrequencies(double theta, int32_t rotary_dim);
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
