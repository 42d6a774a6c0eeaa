#include "tests/base/counted_allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace adze {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

std::atomic<bool> g_counting{false};
std::atomic<int64_t> g_live{0};  // bytes
std::atomic<int64_t> g_peak{0};
std::atomic<int64_t> g_left{kNone};  // how many succeed before one fails; below 0: it has failed

}  // namespace

CountedAllocations::CountedAllocations() {
  g_live = 0;
  g_peak = 0;
  g_counting = true;
}
CountedAllocations::~CountedAllocations() { g_counting = false; }
size_t CountedAllocations::peak() const { return static_cast<size_t>(g_peak.load()); }

FailingAllocation::FailingAllocation(size_t n) { g_left = static_cast<int64_t>(n); }
FailingAllocation::~FailingAllocation() { g_left = kNone; }
bool FailingAllocation::failed() const { return g_left < 0; }

namespace {

// Runs `body`, its allocation number `n` failing; false: it needs no more than n.
bool fail_one(size_t n, const std::function<void()>& body, FailedAllocations& failed) {
  const FailingAllocation failing(n);
  try {
    body();
  } catch (const std::bad_alloc&) {
    ++failed.thrown;
  }
  if (failing.failed()) ++failed.all;
  return failing.failed();
}

}  // namespace

FailedAllocations fail_each_allocation(const std::function<void()>& body) {
  FailedAllocations failed;
  for (size_t n = 0; fail_one(n, body, failed); ++n) {
  }
  return failed;
}

FailedAllocations fail_some_allocations(size_t samples, const std::function<void()>& body) {
  size_t all = 0;
  {
    const FailingAllocation counter(kNone - 1);
    body();
    all = static_cast<size_t>(kNone - 1 - g_left);
  }
  FailedAllocations failed;
  for (size_t i = 0; i < samples; ++i) fail_one(i * all / samples, body, failed);
  return failed;
}

}  // namespace adze

namespace {

void* allocate(size_t size, size_t alignment) {
  using namespace adze;
  if (g_left != kNone) {
    const int64_t left = g_left--;
    if (left == 0) throw std::bad_alloc();
  }
  void* memory =
      alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
          ? std::malloc(std::max<size_t>(size, 1))
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  if (g_counting) {
    const int64_t live = g_live += static_cast<int64_t>(malloc_usable_size(memory));
    int64_t peak = g_peak;
    while (peak < live && !g_peak.compare_exchange_weak(peak, live)) {
    }
  }
  return memory;
}

void release(void* memory) {
  if (adze::g_counting && memory != nullptr) {
    adze::g_live -= static_cast<int64_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return allocate(size, 1); }
void* operator new[](size_t size) { return allocate(size, 1); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }
void operator delete[](void* memory, size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { release(memory); }
