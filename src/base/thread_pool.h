// A fixed team of threads that walk the same work together.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace adze {

// Where a team meets. All `threads` callers wait until the last one arrives; what each wrote before
// is visible to all after. Spins, then yields: when the team is larger than the CPUs it may run on,
// it hardly spins at all.
class Barrier {
 public:
  Barrier(int threads, int spins) : threads_(threads), spins_(spins) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  void wait();

 private:
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  const int threads_;
  const int spins_;
};

// `threads` members including the caller of run(); the others sleep between runs after a short
// spin. One run at a time: run() must not be called from two threads at once, nor from inside a
// run.
class ThreadPool {
 public:
  // 0: as many threads as CPUs this process may use. Throws Error{kInvalidInput} for a number that
  // is not from 0 to 1024, Error{kResourceExhausted} where the system gives no more threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }
  // For the members of a run.
  Barrier& barrier() { return barrier_; }
  // Calls work(member) on every member, 0 (the caller) to size() − 1, and returns when all have
  // returned. `work` must not throw.
  void run(const std::function<void(int)>& work);

 private:
  void member_loop(int member);
  void join();

  const int size_;
  const int spins_;
  Barrier barrier_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<uint32_t> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> members_;
};

// CPUs this process may run on.
int available_cpus();

// The part of `count` items that `member` of `members` owns: contiguous, in order, sizes differing
// by at most one multiple of `grain`.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};
Range member_range(int64_t count, int member, int members, int64_t grain = 1);

}  // namespace adze
