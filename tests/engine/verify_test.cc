// What passes promise about the logits, checked on small random models; and that the check finds a
// pass that breaks its promise.
#include "graph/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "engine/loaded_model.h"
#include "graph/operator.h"
#include "models/model.h"
#include "providers/cpu/cpu_provider.h"
#include "tiny_model.h"

namespace adze::graph {
namespace {

struct Case {
  std::string name;
  Activations activations = Activations::kInt16;
  std::string cache = "bf16";
  DType linear = DType::kQ4_1;
};

class AllPassesTest : public testing::TestWithParam<Case> {};

TEST_P(AllPassesTest, KeepTheirPromises) {
  const std::string path = testing::TempDir() + "verify_" + GetParam().name + ".gguf";
  TinyModelSpec spec;
  spec.linear = GetParam().linear;
  write_tiny_model(path, spec);
  engine::ModelOptions options;
  options.verify_passes = true;
  options.passes.activations = GetParam().activations;
  options.cache_dtype = *ops::cache_dtype_from_name(GetParam().cache);
  const engine::LoadedModel model(path, options);
  ASSERT_EQ(model.pass_checks().size(), passes().size());
  for (size_t i = 0; i < passes().size(); ++i) {
    const PassCheck& check = model.pass_checks()[i];
    EXPECT_EQ(check.pass, passes()[i].name);
    EXPECT_EQ(check.exactness, passes()[i].exactness);
    EXPECT_TRUE(check.holds()) << check.pass << ": " << check_text(check);
    EXPECT_EQ(check.rows, 40);
    if (check.bit_identical) {
      EXPECT_EQ(check.largest_difference, 0);
      EXPECT_EQ(check.mean_kl, 0);
      EXPECT_EQ(check.same_best, check.rows);
    }
  }
  EXPECT_NO_THROW(require_kept(model.pass_checks()));
}

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Models, AllPassesTest,
    testing::Values(Case{"int16"}, Case{"int8", Activations::kInt8},
                    Case{"f32", Activations::kF32, "f32"},
                    Case{"int8_cache", Activations::kInt16, "int8", DType::kQ8_0},
                    Case{"q4_0", Activations::kInt8, "bf16", DType::kQ4_0},
                    Case{"bf16_weights", Activations::kInt16, "bf16", DType::kBF16}),
    case_name);

// Where linears do not take the residuals, sums and norms become one step, with the same bits.
TEST(AllPasses, KeepTheirPromisesWithoutResidualsInLinears) {
  const std::string path = testing::TempDir() + "verify_residual_norm.gguf";
  write_tiny_model(path);
  engine::ModelOptions options;
  options.verify_passes = true;
  options.passes.disabled.insert("fuse_residual");
  const engine::LoadedModel model(path, options);
  EXPECT_EQ(model.pass_checks().size(), passes().size() - 1);
  EXPECT_NO_THROW(require_kept(model.pass_checks()));
  // Two sums in each of three layers; the last one's is not normed as it is.
  EXPECT_EQ(count_operators(model.plan().graph()).at("residual_norm"), 5);
}

// --- A wrong pass among right ones ---

NodeId last_norm(const Graph& graph) {
  NodeId found = kNoId;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op->name == "rms_norm") found = id;
  }
  return found;
}

// Well-formed all the same: the shapes fit, the numbers do not.
void forget_epsilon(const PassContext& context) {
  context.graph.mutable_node(last_norm(context.graph)).attributes["epsilon"] = 0.01;
}

void forget_residual(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node& node = graph.node(id);
    if (node.op->name != "add") continue;
    graph.replace_uses(node.outputs[0], node.inputs[1]);
    graph.remove(id);
    return;
  }
}

void rotate_no_queries(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    const Node& node = graph.node(id);
    if (node.op->name != "rope" || !node.name.ends_with("query.rope")) continue;
    graph.replace_uses(node.outputs[0], node.inputs[0]);
    graph.remove(id);
  }
}

void divide_by_zero(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    if (graph.node(id).op->name != "constant") continue;
    graph.mutable_node(id).attributes["value"] = std::numeric_limits<double>::quiet_NaN();
  }
}

void leave_unordered(const PassContext& context) {
  Graph& graph = context.graph;
  const NodeId id = last_norm(graph);
  const Node node = graph.node(id);
  graph.mutable_node(id).inputs[0] = graph.outputs()[0];
}

class PlantedPassTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = testing::TempDir() + "verify_planted.gguf";
    write_tiny_model(path);
    checkpoint_ = checkpoint::open_checkpoint(path);
  }

  // The checks of three passes and the planted one among them.
  std::vector<PassCheck> checks_with(const Pass& planted) {
    Graph graph =
        models::find_architecture("llama").build(checkpoint_.config, *checkpoint_.weights);
    const auto cpu = providers::make_cpu_provider({Isa::kReference, ops::CacheDType::kF32});
    cpu->lay_out_state(graph);
    const std::array<Provider*, 1> providers = {cpu.get()};
    ThreadPool pool(1);
    PassVerifier verifier(providers, *checkpoint_.weights, pool);
    verifier.start(graph);
    const auto pass = [](std::string_view name) {
      return *std::find_if(passes().begin(), passes().end(),
                           [&](const Pass& one) { return one.name == name; });
    };
    const std::array<Pass, 4> list = {pass("fold_constants"), pass("eliminate_dead"), planted,
                                      pass("fuse_gate_up")};
    run_passes(
        graph, *checkpoint_.weights, {},
        [&](const Graph& rewritten, const PassReport& report) {
          verifier.check(rewritten, report);
        },
        list);
    return verifier.checks();
  }

  // That the planted pass alone is found, and named in an error.
  void expect_caught(const Pass& planted) {
    const std::vector<PassCheck> checks = checks_with(planted);
    ASSERT_EQ(checks.size(), 4u);
    for (const PassCheck& check : checks) EXPECT_EQ(check.holds(), check.pass != planted.name);
    try {
      require_kept(checks);
      FAIL() << "nothing was found";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal);
      EXPECT_NE(std::string(error.what()).find(planted.name), std::string::npos) << error.what();
    }
  }

  checkpoint::Checkpoint checkpoint_;
};

TEST_F(PlantedPassTest, IsFoundWhereItPromisesEveryBit) {
  expect_caught({"forget_epsilon", "", Exactness::kBitIdentical, forget_epsilon});
  expect_caught({"forget_residual", "", Exactness::kBitIdentical, forget_residual});
  expect_caught({"rotate_no_queries", "", Exactness::kBitIdentical, rotate_no_queries});
}

TEST_F(PlantedPassTest, IsFoundWhereItPromisesLittleAndWhereItPromisesNothing) {
  expect_caught({"approximate", "", Exactness::kApproximate, [](const PassContext& context) {
                   forget_residual(context);
                   context.report.mean_kl_limit = 0.005;
                 }});
  expect_caught({"no_limit", "", Exactness::kApproximate, forget_epsilon});
}

TEST_F(PlantedPassTest, IsFoundWhereLogitsAreNoNumbers) {
  const Pass planted{"not_a_number", "", Exactness::kApproximate, [](const PassContext& context) {
                       divide_by_zero(context);
                       context.report.mean_kl_limit = 1e9;
                     }};
  const std::vector<PassCheck> checks = checks_with(planted);
  EXPECT_FALSE(checks[2].holds());
  EXPECT_EQ(checks[2].largest_difference, std::numeric_limits<double>::infinity());
  EXPECT_EQ(checks[2].mean_kl, std::numeric_limits<double>::infinity());
}

TEST_F(PlantedPassTest, IsNamedWhereItLeavesAMalformedGraph) {
  try {
    checks_with({"leave_unordered", "", Exactness::kBitIdentical, leave_unordered});
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_NE(std::string(error.what()).find("leave_unordered"), std::string::npos);
  }
}

TEST_F(PlantedPassTest, WithinItsLimitIsNoFault) {
  const std::vector<PassCheck> checks =
      checks_with({"coarse", "", Exactness::kApproximate, [](const PassContext& context) {
                     forget_epsilon(context);
                     context.report.mean_kl_limit = 1;
                   }});
  EXPECT_TRUE(checks[2].holds()) << check_text(checks[2]);
  EXPECT_GT(checks[2].mean_kl, 0);
  EXPECT_GT(checks[2].largest_difference, 0);
}

TEST(Verify, RefusesAModelWithoutFiniteLogits) {
  const std::string path = testing::TempDir() + "verify_infinite.gguf";
  write_tiny_model(path);
  const checkpoint::Checkpoint checkpoint = checkpoint::open_checkpoint(path);
  Graph graph = models::find_architecture("llama").build(checkpoint.config, *checkpoint.weights);
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op->name == "rms_norm") {
      graph.mutable_node(id).attributes["epsilon"] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  const auto cpu = providers::make_cpu_provider({Isa::kReference, ops::CacheDType::kF32});
  cpu->lay_out_state(graph);
  const std::array<Provider*, 1> providers = {cpu.get()};
  ThreadPool pool(1);
  PassVerifier verifier(providers, *checkpoint.weights, pool);
  EXPECT_THROW(verifier.start(graph), Error);
}

}  // namespace
}  // namespace adze::graph
