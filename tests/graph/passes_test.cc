#include <gtest/gtest.h>

#include <algorithm>

#include "fake_weights.h"
#include "graph/builder.h"
#include "graph/explain.h"
#include "graph/operator.h"
#include "graph/passes/pass.h"
#include "models/model.h"

namespace adze::graph {
namespace {

models::ModelConfig small_config() {
  models::ModelConfig config;
  config.architecture = "llama";
  config.hidden = 64;
  config.layers = 2;
  config.heads = {4, 4};
  config.kv_heads = {2, 2};
  config.ffn = {96, 96};
  config.head_dim = 16;
  config.rotary_dim = 16;
  config.vocabulary = 100;
  config.context_length = 128;
  config.norm_epsilon = 1e-5;
  config.window = {0, 0};
  config.rope = {{}, {}};
  config.query_scalar = 16;
  config.tied_output = true;
  return config;
}

FakeWeights small_weights(const models::ModelConfig& config, DType linear = DType::kQ8_0) {
  FakeWeights weights;
  weights.add("token_embedding", DType::kQ8_0, config.vocabulary, config.hidden);
  weights.add("final_norm", DType::kF32, 1, config.hidden);
  for (int i = 0; i < config.layers; ++i) {
    const std::string layer = "layers." + std::to_string(i);
    weights.add(layer + ".attention.norm", DType::kF32, 1, 64);
    weights.add(layer + ".attention.query", linear, 64, 64);
    weights.add(layer + ".attention.key", linear, 32, 64);
    weights.add(layer + ".attention.value", linear, 32, 64);
    weights.add(layer + ".attention.output", linear, 64, 64);
    weights.add(layer + ".mlp.norm", DType::kF32, 1, 64);
    weights.add(layer + ".mlp.gate", linear, 96, 64);
    weights.add(layer + ".mlp.up", linear, 96, 64);
    weights.add(layer + ".mlp.down", linear, 64, 96);
  }
  return weights;
}

class PassesTest : public testing::Test {
 protected:
  Graph build() const { return models::find_architecture("llama").build(config_, weights_); }

  models::ModelConfig config_ = small_config();
  FakeWeights weights_ = small_weights(config_);
};

TEST_F(PassesTest, DecoderBecomesItsFusedForm) {
  Graph graph = build();
  run_passes(graph, weights_, {});
  const std::map<std::string, int> expected = {
      {"attention", 2}, {"constant", 1}, {"embedding", 1}, {"gather_sampled", 1},
      {"linear", 9},    {"quantize", 4}, {"rms_norm", 5},  {"rope_kv_write", 2}};
  EXPECT_EQ(count_operators(graph), expected);
}

// What a pass changes is as it was where that pass is left out, and the others still run.
TEST_F(PassesTest, EachPassCanBeDisabledAlone) {
  Graph full = build();
  const std::vector<PassReport> all = run_passes(full, weights_, {});
  ASSERT_EQ(all.size(), passes().size());
  for (size_t i = 0; i < all.size(); ++i) {
    Graph graph = build();
    PassOptions options;
    options.disabled.insert(all[i].name);
    const std::vector<PassReport> reports = run_passes(graph, weights_, options);
    ASSERT_EQ(reports.size(), all.size());
    EXPECT_TRUE(reports[i].changes.empty()) << all[i].name;
    EXPECT_EQ(count_operators(graph) == count_operators(full), all[i].changes.empty())
        << all[i].name;
  }
}

TEST_F(PassesTest, UnknownPassIsNamed) {
  Graph graph = build();
  PassOptions options;
  options.disabled.insert("fuse_everything");
  try {
    run_passes(graph, weights_, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fuse_everything"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("fuse_qkv"), std::string::npos);
  }
}

TEST_F(PassesTest, FloatWeightsKeepFloatActivationsAndSayWhy) {
  weights_ = small_weights(config_, DType::kBF16);
  Graph graph = build();
  const std::vector<PassReport> reports = run_passes(graph, weights_, {});
  const auto report = std::ranges::find(reports, "quantize_activations", &PassReport::name);
  ASSERT_NE(report, reports.end());
  EXPECT_EQ(report->changes.size(), 1u);  // the output head alone is quantized
  ASSERT_EQ(report->rejections.size(), 8u);
  EXPECT_NE(report->rejections[0].reason.find("BF16"), std::string::npos);
}

TEST_F(PassesTest, FoldsConstantsAndDropsIdentitiesAndDeadNodes) {
  Builder builder(weights_);
  const ValueId x = builder.graph().add_input("x", ElementType::kF32,
                                              {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 64}});
  const ValueId quarter = builder.apply("rsqrt", "quarter", {builder.constant("sixteen", 16)});
  const ValueId one = builder.apply("multiply", "one", {quarter, builder.constant("four", 4)});
  const ValueId same = builder.apply("multiply", "same", {x, one});
  builder.apply("silu", "unread", {same});
  builder.graph().add_output(builder.apply("silu", "result", {same}));
  Graph graph = builder.take();
  run_passes(graph, weights_, {});
  const std::map<std::string, int> expected = {{"silu", 1}};
  EXPECT_EQ(count_operators(graph), expected);
  EXPECT_EQ(graph.node(graph.order()[0]).inputs[0], x);
}

TEST_F(PassesTest, VerifierFindsABrokenGraph) {
  Graph graph = build();
  const NodeId last = graph.order().back();
  graph.mutable_node(last).attributes["axis"] = int64_t{3};
  EXPECT_THROW(graph.verify(weights_), Error);
  graph = build();
  graph.mutable_value(graph.node(last).outputs[0]).shape.back().size = 7;
  EXPECT_THROW(graph.verify(weights_), Error);
}

TEST_F(PassesTest, ShapesThatDoNotFitNameTheNode) {
  weights_.add("layers.1.mlp.down", DType::kF32, 64, 95);
  try {
    build();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_NE(std::string(error.what()).find("layers.1.mlp.down"), std::string::npos);
  }
}

}  // namespace
}  // namespace adze::graph
