#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "fake_weights.h"
#include "graph/builder.h"

namespace adze::graph {
namespace {

size_t row_bytes(const Value& value) {
  return value.producer == kNoId ? 0 : static_cast<size_t>(row_elements(value.shape)) * 4;
}

// Values whose lives overlap must not share bytes, unless one took over the other's buffer as it
// died.
void expect_disjoint(const Graph& graph, const MemoryPlan& plan) {
  for (size_t a = 0; a < plan.placements.size(); ++a) {
    for (size_t b = a + 1; b < plan.placements.size(); ++b) {
      const auto& first = plan.placements[a];
      const auto& second = plan.placements[b];
      if (first.offset == kNoBuffer || second.offset == kNoBuffer) continue;
      const bool lives_overlap =
          first.first_use <= second.last_use && second.first_use <= first.last_use;
      const bool bytes_overlap =
          first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
      if (!lives_overlap || !bytes_overlap) continue;
      EXPECT_TRUE(second.shares_with == static_cast<ValueId>(a) &&
                  first.last_use == second.first_use)
          << graph.value(static_cast<ValueId>(a)).name << " and "
          << graph.value(static_cast<ValueId>(b)).name;
    }
  }
}

TEST(MemoryPlan, ChainReusesTwoBuffers) {
  FakeWeights weights;
  weights.add("w", DType::kF32, 64, 64);
  Builder builder(weights);
  ValueId x = builder.graph().add_input("x", ElementType::kF32,
                                        {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 64}});
  for (int i = 0; i < 10; ++i) {
    x = builder.apply("linear", "l" + std::to_string(i), {x}, {tensor("w")});
  }
  builder.graph().add_output(x);
  const Graph graph = builder.take();
  const MemoryPlan plan = plan_memory(graph, row_bytes);
  EXPECT_EQ(plan.naive_bytes, 10u * 256);
  EXPECT_EQ(plan.peak_bytes, 2u * 256);
  expect_disjoint(graph, plan);
}

TEST(MemoryPlan, RandomGraphsNeverOverlap) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    FakeWeights weights;
    Builder builder(weights);
    std::vector<ValueId> values = {builder.graph().add_input(
        "x", ElementType::kF32, {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 64}})};
    for (int i = 0; i < 40; ++i) {
      const ValueId a = values[random() % values.size()];
      const ValueId b = values[values.size() - 1 - random() % std::min<size_t>(values.size(), 4)];
      values.push_back(random() % 2 == 0 ? builder.apply("silu", "n" + std::to_string(i), {a})
                                         : builder.apply("add", "n" + std::to_string(i), {a, b}));
    }
    builder.graph().add_output(values.back());
    const Graph graph = builder.take();
    const MemoryPlan plan = plan_memory(graph, row_bytes);
    expect_disjoint(graph, plan);
    EXPECT_LE(plan.peak_bytes, plan.naive_bytes);
  }
}

}  // namespace
}  // namespace adze::graph
