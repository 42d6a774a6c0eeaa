#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "fake_weights.h"
#include "graph/builder.h"

namespace adze::graph {
namespace {

// Sizes of values as float32 rows; nothing for the graph's inputs.
std::function<size_t(ValueId)> row_bytes(const Graph& graph) {
  return [&graph](ValueId id) {
    const Value& value = graph.value(id);
    return value.producer == kNoId ? 0 : static_cast<size_t>(row_elements(value.shape)) * 4;
  };
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

// Runs the graph on an arena in which every value is a number of its own: whoever reads must find
// what was written. Says nothing of lives: those are the plan's opinion.
void expect_values_survive(const Graph& graph, const MemoryPlan& plan, uint32_t seed) {
  std::vector<int32_t> arena(plan.peak_bytes, kNoId);
  const auto place = [&](ValueId value) {
    const auto& placement = plan.placements[static_cast<size_t>(value)];
    if (placement.offset == kNoBuffer) return std::span<int32_t>();
    EXPECT_EQ(placement.offset % 64, 0u);
    return std::span(arena).subspan(placement.offset, placement.bytes);
  };
  const auto expect_there = [&](ValueId value, const std::string& reader) {
    for (const int32_t number : place(value)) {
      ASSERT_EQ(number, value) << graph.value(value).name << " as " << reader << " reads it, seed "
                               << seed;
    }
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const ValueId input : node.inputs) expect_there(input, node.name);
    for (const ValueId output : node.outputs) {
      const auto to = place(output);
      for (const ValueId input : node.inputs) {
        const auto from = place(input);
        const bool apart = to.empty() || from.empty() || to.data() + to.size() <= from.data() ||
                           from.data() + from.size() <= to.data();
        const bool taken_over = plan.placements[static_cast<size_t>(output)].shares_with == input &&
                                to.data() == from.data() && to.size() == from.size();
        EXPECT_TRUE(apart || taken_over) << node.name << " writes over what it reads";
      }
      std::fill(to.begin(), to.end(), output);
    }
    for (const ValueId output : node.outputs) expect_there(output, node.name);
  }
  for (const ValueId output : graph.outputs()) expect_there(output, "the caller");
}

TEST(MemoryPlan, RandomGraphsKeepEveryValueUntilItsLastReader) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    FakeWeights weights;
    weights.add("w", DType::kF32, 64, 64);
    Builder builder(weights);
    std::vector<ValueId> values = {builder.graph().add_input(
        "x", ElementType::kF32, {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 64}})};
    const auto any = [&] {
      const size_t reach = random() % 3 == 0 ? values.size() : std::min<size_t>(values.size(), 4);
      return values[values.size() - 1 - random() % reach];
    };
    for (int i = 0; i < 60; ++i) {
      const std::string name = "n" + std::to_string(i);
      switch (random() % 5) {
        case 0:
          values.push_back(builder.apply("silu", name, {any()}));
          break;
        case 1:
          values.push_back(builder.apply("add", name, {any(), any()}));
          break;
        case 2:  // the residual's buffer may be taken over
          values.push_back(builder.apply("linear", name, {any(), any()}, {tensor("w")}));
          break;
        case 3: {  // several outputs, some of which nobody reads
          const NodeId node = builder.graph().add_node(
              "linear", name, {any()}, {tensor("w"), tensor("w"), tensor("w")},
              {{"axis", std::string("hidden,hidden,hidden")}}, weights);
          for (const ValueId output : builder.graph().node(node).outputs) values.push_back(output);
          break;
        }
        default:
          values.push_back(builder.apply("multiply", name, {any(), any()}));
      }
    }
    for (int i = 0; i < 3; ++i) builder.graph().add_output(any());
    const Graph graph = builder.take();
    // Sizes that have nothing to do with the shapes: some values have no bytes at all.
    std::vector<size_t> sizes;
    for (size_t i = 0; i < graph.value_count(); ++i) {
      sizes.push_back(random() % 8 == 0 ? 0 : random() % 3 == 0 ? 256 : 1 + random() % 2000);
    }
    const MemoryPlan plan = plan_memory(graph, [&](ValueId id) {
      return graph.value(id).producer == kNoId ? 0 : sizes[static_cast<size_t>(id)];
    });
    expect_values_survive(graph, plan, seed);
    expect_disjoint(graph, plan);
    EXPECT_LE(plan.peak_bytes, plan.naive_bytes);
    for (size_t i = 0; i < plan.placements.size(); ++i) {
      if (graph.value(static_cast<ValueId>(i)).producer == kNoId) continue;
      EXPECT_GE(plan.placements[i].bytes, sizes[i]);
      EXPECT_LT(plan.placements[i].bytes, sizes[i] + 64);
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
  const MemoryPlan plan = plan_memory(graph, row_bytes(graph));
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
    const MemoryPlan plan = plan_memory(graph, row_bytes(graph));
    expect_disjoint(graph, plan);
    EXPECT_LE(plan.peak_bytes, plan.naive_bytes);
  }
}

}  // namespace
}  // namespace adze::graph
