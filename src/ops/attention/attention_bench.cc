// How long attention takes on one thread, by instruction set and cache type: prefill, decode at
// depth, and what limits it.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/arena.h"
#include "ops/attention/attention.h"
#include "ops/attention/pattern.h"

namespace adze::ops {
namespace {

struct Shape {
  int32_t heads;
  int32_t kv_heads;
  int32_t head_dim;
};

// Layers of one sequence's cache, and queries for its last rows.
class Problem {
 public:
  Problem(CacheDType dtype, const Shape& shape, int32_t rows, int32_t depth, int32_t layers,
          const AttentionPattern& pattern = {})
      : layout_{dtype, shape.kv_heads, shape.head_dim},
        shape_(shape),
        pattern_(pattern),
        rows_(rows),
        depth_(depth),
        layers_(layers) {
    const int32_t tokens = depth + rows;
    const auto blocks = static_cast<size_t>((tokens + kCacheTokens - 1) / kCacheTokens);
    layer_bytes_ = layout_.block_bytes();
    memory_ = HugeBuffer(blocks * layer_bytes_ * static_cast<size_t>(layers));
    for (size_t b = 0; b < blocks; ++b) {
      blocks_.push_back(memory_.data() + b * layer_bytes_ * static_cast<size_t>(layers));
    }
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto width = static_cast<size_t>(shape.kv_heads * shape.head_dim);
    std::vector<float> keys(width);
    std::vector<float> values(width);
    for (int32_t t = 0; t < tokens; ++t) {
      for (float& v : keys) v = normal(random);
      for (float& v : values) v = normal(random);
      kAttentionReference.write_kv(layout_, blocks_[static_cast<size_t>(t / kCacheTokens)],
                                   t % kCacheTokens, keys.data(), values.data());
    }
    for (std::byte* block : blocks_) {
      for (int32_t layer = 1; layer < layers; ++layer) {
        std::memcpy(block + static_cast<size_t>(layer) * layer_bytes_, block, layer_bytes_);
      }
    }
    queries_.resize(static_cast<size_t>(rows * shape.heads * shape.head_dim));
    out_.resize(queries_.size());
    for (float& v : queries_) v = normal(random);
    partials_.resize(partial_floats(shape.head_dim) * kMaxAttentionRows);
    sums_.resize(partials_.size());
  }

  // Every score of a head in memory, then every weight, then the results, in float32: what tiles
  // are compared with.
  void attend_materialized() {
    const int32_t tokens = depth_ + rows_;
    const auto dims = static_cast<size_t>(shape_.head_dim);
    std::vector<float> keys(random_floats(static_cast<size_t>(tokens) * dims));
    std::vector<float> values(random_floats(static_cast<size_t>(tokens) * dims));
    std::vector<float> scores(static_cast<size_t>(rows_) * static_cast<size_t>(tokens));
    for (int32_t head = 0; head < shape_.heads; ++head) {
      const auto query_at = [&](int32_t row) {
        return static_cast<size_t>(row * shape_.heads + head) * dims;
      };
      for (int32_t row = 0; row < rows_; ++row) {
        float* score = scores.data() + static_cast<size_t>(row) * static_cast<size_t>(tokens);
        std::fill_n(score, tokens, 0.0f);
        for (size_t d = 0; d < dims; ++d) {
          const float q = queries_[query_at(row) + d] * 0.125f;
          const float* key = keys.data() + d * static_cast<size_t>(tokens);
          for (int32_t t = 0; t <= depth_ + row; ++t) score[t] += q * key[t];
        }
      }
      for (int32_t row = 0; row < rows_; ++row) {
        float* score = scores.data() + static_cast<size_t>(row) * static_cast<size_t>(tokens);
        const int32_t seen = depth_ + row + 1;
        const float highest = *std::max_element(score, score + seen);
        float sum = 0.0f;
        for (int32_t t = 0; t < seen; ++t) sum += score[t] = std::exp(score[t] - highest);
        for (int32_t t = 0; t < seen; ++t) score[t] /= sum;
      }
      for (int32_t row = 0; row < rows_; ++row) {
        const float* score = scores.data() + static_cast<size_t>(row) * static_cast<size_t>(tokens);
        float* out = out_.data() + query_at(row);
        std::fill_n(out, dims, 0.0f);
        for (int32_t t = 0; t <= depth_ + row; ++t) {
          const float* value = values.data() + static_cast<size_t>(t) * dims;
          for (size_t d = 0; d < dims; ++d) out[d] += score[t] * value[d];
        }
      }
    }
    benchmark::DoNotOptimize(out_.data());
    benchmark::ClobberMemory();
  }

  void attend(const AttentionKernels& kernels) {
    for (int32_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
      const int32_t group = shape_.heads / shape_.kv_heads;
      for (int32_t begin = 0; begin < rows_ * group; begin += kMaxAttentionRows) {
        attend_tile(kernels, kv_head, begin, std::min(begin + kMaxAttentionRows, rows_ * group));
      }
    }
    layer_ = (layer_ + 1) % layers_;
    benchmark::DoNotOptimize(out_.data());
    benchmark::ClobberMemory();
  }

  // Bytes of one layer's keys and values.
  size_t bytes() const { return blocks_.size() * layer_bytes_; }
  std::span<const std::byte> memory() const { return {memory_.data(), memory_.size()}; }
  // Multiplications and additions of the scores and of the weighted values.
  double flops() const {
    const double pairs = static_cast<double>(rows_) * (depth_ + (rows_ + 1) / 2.0);
    return 4.0 * pairs * shape_.heads * shape_.head_dim;
  }

 private:
  static std::vector<float> random_floats(size_t count) {
    std::mt19937 random(2);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> out(count);
    for (float& v : out) v = uniform(random);
    return out;
  }

  void attend_tile(const AttentionKernels& kernels, int32_t kv_head, int32_t begin, int32_t end) {
    const int32_t group = shape_.heads / shape_.kv_heads;
    AttentionRow rows[kMaxAttentionRows];
    KeyRange ranges[kMaxAttentionRows][2];
    for (int32_t i = begin; i < end; ++i) {
      const int32_t row = i / group;
      const auto at =
          static_cast<size_t>((row * shape_.heads + kv_head * group + i % group) * shape_.head_dim);
      const size_t count = visible_ranges(pattern_, depth_ + row, ranges[i - begin]);
      rows[i - begin] = {queries_.data() + at, {ranges[i - begin], count}, out_.data() + at};
    }
    const AttentionTile tile = {&layout_, blocks_, layer_bytes_ * static_cast<size_t>(layer_),
                                kv_head,  0.125f,  {rows, static_cast<size_t>(end - begin)}};
    const size_t floats = partial_floats(shape_.head_dim);
    clear_partials(sums_.data(), floats, tile.rows.size(), shape_.head_dim);
    for (int32_t s = next_segment(tile.rows, 0); s >= 0; s = next_segment(tile.rows, s + 1)) {
      kernels.segment(tile, s, partials_.data(), floats);
      kernels.fold(tile, s, partials_.data(), floats, sums_.data(), floats);
    }
    kernels.finish(tile, sums_.data(), floats);
  }

  CacheLayout layout_;
  Shape shape_;
  AttentionPattern pattern_;
  int32_t rows_;
  int32_t depth_;
  int32_t layers_;
  int32_t layer_ = 0;
  size_t layer_bytes_ = 0;
  HugeBuffer memory_;
  std::vector<std::byte*> blocks_;
  std::vector<float> queries_;
  std::vector<float> out_;
  std::vector<float> partials_;
  std::vector<float> sums_;
};

void prefill(benchmark::State& state, const AttentionKernels& kernels, CacheDType dtype,
             const Shape& shape, int32_t depth) {
  Problem problem(dtype, shape, 512, depth, 1);
  for (auto _ : state) problem.attend(kernels);
  state.counters["flop/s"] =
      benchmark::Counter(problem.flops(), benchmark::Counter::kIsIterationInvariantRate);
}

// One row over so many layers that they lie in memory, not in a cache.
constexpr int32_t kDecodeLayers = 16;

void decode(benchmark::State& state, const AttentionKernels& kernels, CacheDType dtype,
            const Shape& shape, int32_t depth) {
  Problem problem(dtype, shape, 1, depth, kDecodeLayers);
  for (auto _ : state) problem.attend(kernels);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(problem.bytes()));
}

// The same bytes, only read.
void read(benchmark::State& state, CacheDType dtype, const Shape& shape, int32_t depth) {
  const Problem problem(dtype, shape, 1, depth, kDecodeLayers);
  const std::span<const std::byte> memory = problem.memory();
  for (auto _ : state) {
    uint64_t sums[8] = {};
    const auto* words = reinterpret_cast<const uint64_t*>(memory.data());
    for (size_t i = 0; i + 8 <= memory.size() / 8; i += 8) {
      for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
    }
    benchmark::DoNotOptimize(sums);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(memory.size()));
}

// One head's attention over 32k tokens: all of them, or a window and sinks.
void pattern(benchmark::State& state, const AttentionKernels& kernels, int32_t rows,
             const AttentionPattern& pattern) {
  Problem problem(CacheDType::kBF16, {4, 1, 64}, rows, 32768 - rows, 1, pattern);
  for (auto _ : state) problem.attend(kernels);
}

// 8k rows of one head from the beginning: tiles, or all scores in memory.
constexpr int32_t kWholeRows = 8192;

void register_patterns(Isa isa, const AttentionKernels& kernels) {
  for (const auto& [name, wanted] :
       {std::pair{"full", AttentionPattern{}},
        std::pair{"window:512:sinks:4", AttentionPattern{512, 4, {}}}}) {
    for (const int32_t rows : {1, 512}) {
      benchmark::RegisterBenchmark(
          fmt::format("pattern/{}/rows:{}/{}/depth:32768", isa_name(isa), rows, name).c_str(),
          [=, &kernels](benchmark::State& state) { pattern(state, kernels, rows, wanted); })
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RegisterBenchmark(fmt::format("whole/{}/tokens:{}", isa_name(isa), kWholeRows).c_str(),
                               [&kernels](benchmark::State& state) {
                                 Problem problem(CacheDType::kBF16, {1, 1, 64}, kWholeRows, 0, 1);
                                 for (auto _ : state) problem.attend(kernels);
                               })
      ->Unit(benchmark::kMillisecond);
}

void register_all() {
  benchmark::RegisterBenchmark(fmt::format("whole/materialized/tokens:{}", kWholeRows).c_str(),
                               [](benchmark::State& state) {
                                 Problem problem(CacheDType::kBF16, {1, 1, 64}, kWholeRows, 0, 1);
                                 for (auto _ : state) problem.attend_materialized();
                               })
      ->Unit(benchmark::kMillisecond);
  for (const auto& table : attention_kernel_tables()) {
    if (table.isa == Isa::kReference || !isa_available(table.isa)) continue;
    register_patterns(table.isa, *table.kernels);
  }
  constexpr Shape kShapes[] = {{9, 3, 64}, {32, 8, 64}, {4, 1, 256}};
  for (const CacheDType dtype : {CacheDType::kBF16, CacheDType::kI8}) {
    for (const Shape& shape : kShapes) {
      const std::string suffix = fmt::format("{}/heads:{}:{}/dim:{}", cache_dtype_name(dtype),
                                             shape.heads, shape.kv_heads, shape.head_dim);
      for (const auto& table : attention_kernel_tables()) {
        if (table.isa == Isa::kReference || !isa_available(table.isa)) continue;
        const AttentionKernels& kernels = *table.kernels;
        for (const int32_t depth : {0, 3584}) {
          benchmark::RegisterBenchmark(
              fmt::format("prefill/{}/{}/depth:{}", isa_name(table.isa), suffix, depth).c_str(),
              [=, &kernels](benchmark::State& state) {
                prefill(state, kernels, dtype, shape, depth);
              })
              ->Unit(benchmark::kMillisecond);
        }
        benchmark::RegisterBenchmark(
            fmt::format("decode/{}/{}/depth:4096", isa_name(table.isa), suffix).c_str(),
            [=, &kernels](benchmark::State& state) { decode(state, kernels, dtype, shape, 4095); })
            ->Unit(benchmark::kMicrosecond);
      }
      benchmark::RegisterBenchmark(
          fmt::format("read/{}/depth:4096", suffix).c_str(),
          [=](benchmark::State& state) { read(state, dtype, shape, 4095); })
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace adze::ops

int main(int argc, char** argv) {
  adze::ops::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
