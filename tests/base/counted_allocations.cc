#include "tests/base/counted_allocations.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace adze {

Allocations g_allocations;

FailedAllocations fail_each_allocation(const std::function<void()>& body) {
  FailedAllocations failed;
  for (size_t n = 0;; ++n) {
    g_allocations = {.counting = true, .left = n};
    try {
      body();
    } catch (const std::bad_alloc&) {
      ++failed.thrown;
    } catch (...) {
      g_allocations = {};
      throw;
    }
    const bool one_failed = g_allocations.left > n;  // it is as good as endless from then on
    g_allocations = {};
    if (!one_failed) return failed;
    ++failed.all;
  }
}

}  // namespace adze

using adze::g_allocations;

void* operator new(size_t size) {
  if (g_allocations.counting && g_allocations.left-- == 0) {
    g_allocations.left = std::numeric_limits<size_t>::max();
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  if (g_allocations.counting) {
    g_allocations.live += malloc_usable_size(memory);
    g_allocations.peak = std::max(g_allocations.peak, g_allocations.live);
  }
  return memory;
}
void operator delete(void* memory) noexcept {
  if (g_allocations.counting && memory != nullptr) {
    g_allocations.live -= std::min(g_allocations.live, malloc_usable_size(memory));
  }
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
