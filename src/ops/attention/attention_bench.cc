// Attention of one layer: decode at a depth, and prefill, per cache type and kernel.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/attention_kernels.h"

namespace adze::ops {
namespace {

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Buffer allocate(size_t bytes) {
  const size_t rounded = (bytes + 63) / 64 * 64;
  std::byte* p = static_cast<std::byte*>(std::aligned_alloc(64, rounded));
  std::memset(p, 0, rounded);
  return Buffer(p);
}

// SmolLM2-135M's heads: 9 query heads on 3 key-value heads of 64. `tokens` rows end at `depth`.
void attend_layer(benchmark::State& state, const AttentionKernel* kernel) {
  constexpr int kKvHeads = 3, kGroup = 3, kDim = 64;
  const int tokens = static_cast<int>(state.range(0)), depth = static_cast<int>(state.range(1));
  const CacheLayout layout(kKvHeads, kDim, kernel->dtype);
  const size_t blocks = static_cast<size_t>(depth + 31) / 32;
  const Buffer pool = allocate(blocks * layout.block_bytes());
  std::vector<std::byte*> table;
  for (size_t b = 0; b < blocks; ++b) table.push_back(pool.get() + b * layout.block_bytes());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> row(kKvHeads * kDim), queries(kGroup * kDim * static_cast<size_t>(tokens));
  for (float& x : queries) x = normal(random);
  for (int t = 0; t < depth; ++t) {
    for (float& x : row) x = normal(random);
    write_kv(layout, table[static_cast<size_t>(t / 32)], t % 32, row.data(), row.data());
  }
  std::vector<float> out(queries.size());
  const size_t scratch_bytes = attention_scratch_bytes(layout);
  const Buffer scratch = allocate(scratch_bytes);
  for (auto _ : state) {
    for (int head = 0; head < kKvHeads; ++head) {
      const AttentionContext context{&layout, table, 0, head, 0.125f, 0};
      std::vector<AttentionRow> rows;
      for (int i = 0; i < tokens * kGroup; ++i) {
        const size_t offset = static_cast<size_t>(i) * kDim;
        rows.push_back({queries.data() + offset, out.data() + offset,
                        causal_range(depth - tokens + i / kGroup, 0)});
        if (rows.size() == static_cast<size_t>(kMaxTileRows) || i + 1 == tokens * kGroup) {
          attend_rows(*kernel, context, rows, {scratch.get(), scratch_bytes});
          rows.clear();
        }
      }
    }
    benchmark::ClobberMemory();
  }
  double pairs = 0;
  for (int i = 0; i < tokens; ++i) pairs += depth - tokens + i + 1;
  const double runs = static_cast<double>(state.iterations());
  state.counters["FLOP/s"] =
      benchmark::Counter(runs * pairs * kKvHeads * kGroup * kDim * 4, benchmark::Counter::kIsRate);
  state.counters["bytes/s"] = benchmark::Counter(
      runs * static_cast<double>(blocks * layout.block_bytes()), benchmark::Counter::kIsRate);
}

// One token's keys and values into one layer.
void write_token(benchmark::State& state, DType dtype) {
  const CacheLayout layout(3, 64, dtype);
  const Buffer block = allocate(layout.block_bytes());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> row(3 * 64);
  for (float& x : row) x = normal(random);
  int slot = 0;
  for (auto _ : state) {
    write_kv(layout, block.get(), slot, row.data(), row.data());
    slot = (slot + 1) % kCacheBlockTokens;
    benchmark::ClobberMemory();
  }
}

}  // namespace
}  // namespace adze::ops

int main(int argc, char** argv) {
  for (const adze::ops::AttentionKernel* kernel : adze::ops::attention_kernels()) {
    if (!adze::isa_available(kernel->isa)) continue;
    benchmark::RegisterBenchmark(kernel->name, adze::ops::attend_layer, kernel)
        ->Args({1, 128})
        ->Args({1, 4096})
        ->Args({512, 512});
  }
  for (const adze::DType dtype : {adze::DType::kF32, adze::DType::kBF16, adze::DType::kI8}) {
    const std::string name = "write_kv_" + std::string(adze::dtype_info(dtype).name);
    benchmark::RegisterBenchmark(name.c_str(), adze::ops::write_token, dtype);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
