// How long a linear takes on one thread, by instruction set, weight type, activations and rows, as
// a share of what the instruction set can do at most.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "base/arena.h"
#include "ops/limits/limits.h"
#include "ops/linear/linear.h"

namespace adze::ops {
namespace {

constexpr int64_t kColumns = 2048;
constexpr int64_t kChannels = 512;

struct Activations {
  int bits;       // 0: float32
  int64_t group;  // columns that share a scale
};

// Operations a second that the limit's loop reaches, the best of a few tries.
double operations_per_second(double (*loop)(int64_t rounds)) {
  constexpr int64_t kRounds = 1 << 18;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double operations = loop(kRounds);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::max(best, operations / took.count());
  }
  return best;
}

void linear(benchmark::State& state, const LinearKernels& kernels, DType dtype,
            const Activations& activations, int64_t rows) {
  const PackedFormat format = packed_format(dtype);
  const QuantizedLayout layout = {kColumns, activations.group, activations.bits};
  HugeBuffer panels(packed_bytes(format, kChannels, kColumns));
  // Bytes that make sane numbers as f16, bf16 and float32.
  std::memset(panels.data(), 0x3c, panels.size());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(rows * kColumns));
  for (float& v : x) v = normal(random);
  HugeBuffer quantized(static_cast<size_t>(rows) * layout.row_bytes());
  for (int64_t r = 0; activations.bits > 0 && r < rows; ++r) {
    kernels.quantize_row(layout, x.data() + r * kColumns,
                         quantized.data() + static_cast<size_t>(r) * layout.row_bytes());
  }
  HugeBuffer scratch(linear_scratch_bytes(kColumns, rows));
  std::vector<float> y(static_cast<size_t>(rows * kChannels));
  LinearArguments a;
  a.format = &format;
  a.panels = panels.data();
  a.columns = kColumns;
  a.channels = kChannels;
  a.last_panel = panel_count(kChannels);
  a.x = activations.bits > 0 ? quantized.data() : reinterpret_cast<const std::byte*>(x.data());
  a.layout = activations.bits > 0 ? &layout : nullptr;
  a.x_stride = kColumns;
  a.last_row = rows;
  a.y = y.data();
  a.y_stride = kChannels;
  a.scratch = scratch.data();
  const LimitKernels& limits = limit_kernels(kernels.isa);
  const double limit = operations_per_second(activations.bits > 0 ? limits.int8 : limits.f32);
  for (auto _ : state) {
    kernels.linear(a);
    benchmark::DoNotOptimize(y.data());
  }
  // Codes of two planes take two products each.
  const double operations =
      2.0 * static_cast<double>(rows * kColumns * kChannels) * (activations.bits == 16 ? 2 : 1);
  state.counters["limit_share"] =
      benchmark::Counter(operations / limit, benchmark::Counter::kIsIterationInvariantRate);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(panels.size()));
}

void register_all() {
  constexpr Activations kActivations[] = {{8, 32}, {8, kColumns}, {16, kColumns}, {0, kColumns}};
  for (const auto& table : linear_kernel_tables()) {
    if (table.isa == Isa::kReference || !isa_available(table.isa)) continue;
    for (const DType dtype : {DType::kQ4_0, DType::kQ4_1, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K,
                              DType::kF16, DType::kBF16, DType::kF32}) {
      for (const Activations& activations : kActivations) {
        const PackedFormat format = packed_format(dtype);
        const bool integer = format.family != WeightFamily::kFloat;
        if ((activations.bits > 0) != integer) continue;
        // Sums of kBits4K span 256 columns.
        if (format.family == WeightFamily::kBits4K && activations.group < 256) continue;
        const std::string name = fmt::format(
            "{}/{}/{}", isa_name(table.isa), dtype_info(dtype).name,
            integer ? fmt::format("int{}:{}", activations.bits, activations.group) : "f32");
        for (const int64_t rows : {1, 4, 16, 512}) {
          benchmark::RegisterBenchmark(fmt::format("{}/rows:{}", name, rows).c_str(),
                                       [=, &table](benchmark::State& state) {
                                         linear(state, *table.kernels, dtype, activations, rows);
                                       })
              ->Unit(benchmark::kMicrosecond);
        }
      }
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
