#include "measure/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>

#include "base/arena.h"
#include "ops/limits/limits.h"

namespace adze::measure {
namespace {

constexpr int kTries = 7;

// Units per second of the whole team: work(member) says how many it did.
double best_rate(ThreadPool& pool, const std::function<double(int)>& work) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::atomic<double> units = 0;
    const auto start = std::chrono::steady_clock::now();
    pool.run([&](int member) { units += work(member); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, units / seconds.count());
  }
  return best;
}

// As many rounds as take about 30 ms.
double instruction_rate(ThreadPool& pool, double (*kernel)(int64_t)) {
  constexpr int64_t kProbe = 1 << 16;
  const auto start = std::chrono::steady_clock::now();
  kernel(kProbe);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto rounds = static_cast<int64_t>(0.03 / std::max(seconds.count(), 1e-9) * kProbe);
  return best_rate(pool, [&](int) { return kernel(std::max(rounds, kProbe)); });
}

}  // namespace

Limits measure_limits(ThreadPool& pool, Isa isa, size_t bytes) {
  const ops::LimitKernels& kernels = ops::limit_kernels(isa);
  Limits limits;
  limits.int8_rate = instruction_rate(pool, kernels.int8);
  limits.f32_rate = instruction_rate(pool, kernels.f32);
  constexpr size_t kGrain = 1024;
  limits.read_bytes = std::max(bytes / kGrain, static_cast<size_t>(pool.size())) * kGrain;
  const HugeBuffer memory(limits.read_bytes);
  std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{1});
  std::atomic<uint64_t> seen = 0;
  limits.read_rate = best_rate(pool, [&](int member) {
    const Range part = member_range(static_cast<int64_t>(limits.read_bytes), member, pool.size(),
                                    static_cast<int64_t>(kGrain));
    seen += kernels.read(
        memory.bytes().subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size())));
    return static_cast<double>(part.size());
  });
  return limits;
}

}  // namespace adze::measure
