// A replaced operator new that counts, limits and fails: for tests of what something costs and of
// what it leaves behind where memory is short. For one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace adze {

struct Allocations {
  bool counting = false;
  size_t live = 0;
  size_t peak = 0;
  size_t left = std::numeric_limits<size_t>::max();  // how many succeed before one fails
};
extern Allocations g_allocations;

struct FailedAllocations {
  size_t all = 0;
  size_t thrown = 0;  // came out of the body as std::bad_alloc
};
// Runs `body` again and again, its first, second, … allocation failing, until it needs no more.
FailedAllocations fail_each_allocation(const std::function<void()>& body);

}  // namespace adze
