// A replaced operator new that counts, limits and fails: for tests of what something costs and of
// what it leaves behind where memory is short. Counts all threads.
#pragma once

#include <cstddef>
#include <functional>

namespace adze {

// Counts while it lives. One at a time.
class CountedAllocations {
 public:
  CountedAllocations();
  ~CountedAllocations();
  CountedAllocations(const CountedAllocations&) = delete;
  CountedAllocations& operator=(const CountedAllocations&) = delete;

  // Bytes in use at most, of those that were allocated since the constructor.
  size_t peak() const;
};

// While it lives the allocation number `n`, from 0, and no other throws std::bad_alloc. One at a
// time.
class FailingAllocation {
 public:
  explicit FailingAllocation(size_t n);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  bool failed() const;  // number `n` has been asked for
};

struct FailedAllocations {
  size_t all = 0;
  size_t thrown = 0;  // came out of the body as std::bad_alloc
};
// Runs `body` again and again, its first, second, … allocation failing, until it needs no more.
FailedAllocations fail_each_allocation(const std::function<void()>& body);

// The same with `samples` of them, evenly spread over what one run asks for.
FailedAllocations fail_some_allocations(size_t samples, const std::function<void()>& body);

}  // namespace adze
