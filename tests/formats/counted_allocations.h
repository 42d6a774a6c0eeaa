// A replaced operator new that counts, limits and fails: for tests of what reading a file costs.
#pragma once

#include <cstddef>
#include <limits>

namespace adze {

struct Allocations {
  bool counting = false;
  size_t live = 0;
  size_t peak = 0;
  size_t left = std::numeric_limits<size_t>::max();  // how many more succeed
};
extern Allocations g_allocations;

}  // namespace adze
