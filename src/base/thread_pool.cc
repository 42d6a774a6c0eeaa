#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"

namespace adze {
namespace {

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr int kSpins = 2000;              // about 50 µs: longer than any imbalance between members
constexpr int kOversubscribedSpins = 20;  // a spinning member would hold the CPU another one needs

}  // namespace

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void Barrier::wait() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    return;
  }
  int spins = 0;
  while (generation_.load(std::memory_order_acquire) == generation) {
    if (++spins < spins_) {
      pause_cpu();
    } else {
      std::this_thread::yield();
    }
  }
}

ThreadPool::ThreadPool(int threads)
    : size_(threads == 0 ? available_cpus() : threads),
      spins_(size_ > available_cpus() ? kOversubscribedSpins : kSpins),
      barrier_(size_, spins_) {
  if (threads < 0 || threads > 1024) throw_invalid("threads: {} is not from 0 to 1024", threads);
  try {
    for (int member = 1; member < size_; ++member) {
      members_.emplace_back([this, member] { member_loop(member); });
    }
  } catch (const std::exception& error) {
    // The destructor of a half-made pool does not run, and members_ must not die unjoined.
    join();
    if (const auto* refused = dynamic_cast<const std::system_error*>(&error)) {
      throw_exhausted("threads: cannot start {}: {}", size_, refused->code().message());
    }
    throw;
  }
}

ThreadPool::~ThreadPool() { join(); }

void ThreadPool::join() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& member : members_) member.join();
}

void ThreadPool::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  work(0);
  int spins = 0;
  while (running_.load(std::memory_order_acquire) != 0) {
    if (++spins < spins_) {
      pause_cpu();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::member_loop(int member) {
  uint32_t seen = 0;
  for (;;) {
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      if (++spins < spins_) {
        pause_cpu();
      } else {
        generation_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    (*work_)(member);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

Range member_range(int64_t count, int member, int members, int64_t grain) {
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t begin = grains * member / members * grain;
  const int64_t end = grains * (member + 1) / members * grain;
  return {std::min(begin, count), std::min(end, count)};
}

}  // namespace adze
