// Rotary position embedding (Su et al., 2021), half-split pairs: dimension i turns with i +
// rotary_dim / 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

// Rotates `heads` heads of head_dim floats one after another. `table` is one row as fill() writes
// it; dimensions past rotary_dim stay. `out` may be `x`. No operation is fused: the result is the
// same on every instruction set.
void rotate(const float* table, int32_t rotary_dim, int32_t head_dim, int32_t heads, const float* x,
            float* out);

}  // namespace adze::ops
