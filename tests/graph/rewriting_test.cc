// Passes on graphs built for them: what each rewrites, and what it has to leave alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "fake_weights.h"
#include "graph/builder.h"
#include "graph/operator.h"
#include "graph/passes/pass.h"

namespace adze::graph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const Shape kRows = {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 64}};

class RewritingTest : public testing::Test {
 protected:
  ValueId input(const std::string& name = "x") {
    return builder_.graph().add_input(name, ElementType::kF32, kRows);
  }
  ValueId linear(const std::string& name, ValueId x, DType dtype = DType::kF32,
                 Attributes attributes = {}, int64_t rows = 64) {
    weights_.add(name, dtype, rows, 64);
    return builder_.apply("linear", name, {x}, {tensor(name)}, std::move(attributes));
  }
  ValueId apply(std::string_view op, const std::string& name, std::vector<ValueId> inputs) {
    return builder_.apply(op, name, std::move(inputs));
  }
  void output(ValueId value) { builder_.graph().add_output(value); }

  // The report of one pass, run alone on what was built.
  PassReport run(std::string_view name, const PassOptions& options = {}) {
    graph_ = builder_.take();
    const auto pass = std::find_if(passes().begin(), passes().end(),
                                   [&](const Pass& one) { return one.name == name; });
    return run_passes(graph_, weights_, options, {}, {&*pass, 1}).front();
  }

  const Node& node(const std::string& name) const {
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).name == name) return graph_.node(id);
    }
    throw std::runtime_error("no node " + name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const NodeId id : graph_.order()) out.push_back(graph_.node(id).name);
    return out;
  }

  FakeWeights weights_;
  Builder builder_{weights_};
  Graph graph_;
};

// --- eliminate_common_subexpressions ---

constexpr const char* kCse = "eliminate_common_subexpressions";

TEST_F(RewritingTest, EqualExpressionsBecomeOneDownToTheirReaders) {
  const ValueId x = input();
  const ValueId a = apply("silu", "a", {x});
  const ValueId b = apply("silu", "b", {x});
  const ValueId one = apply("multiply", "one", {a, builder_.constant("half", 0.5)});
  const ValueId two = apply("multiply", "two", {b, builder_.constant("also half", 0.5)});
  output(apply("add", "sum", {one, two}));
  const PassReport report = run(kCse);
  EXPECT_THAT(names(), ElementsAre("a", "half", "one", "sum"));
  EXPECT_THAT(report.changes,
              UnorderedElementsAre("a for 1 more", "half for 1 more", "one for 1 more"));
  EXPECT_THAT(node("a").origins, ElementsAre("a", "b"));
  EXPECT_EQ(node("sum").inputs[0], node("sum").inputs[1]);
}

TEST_F(RewritingTest, WhatDiffersInAttributeWeightOrSignOfZeroStaysApart) {
  const ValueId x = input();
  weights_.add("w", DType::kF32, 1, 64);
  weights_.add("v", DType::kF32, 1, 64);
  const auto norm = [&](const std::string& name, const char* weight, double epsilon) {
    return builder_.apply("rms_norm", name, {x}, {tensor(weight)}, {{"epsilon", epsilon}});
  };
  output(norm("a", "w", 1e-5));
  output(norm("b", "w", 1e-6));
  output(norm("c", "v", 1e-5));
  output(apply("add", "plus", {x, builder_.constant("zero", 0.0)}));
  output(apply("add", "minus", {x, builder_.constant("negative zero", -0.0)}));
  EXPECT_THAT(run(kCse).changes, IsEmpty());
  EXPECT_THAT(names(), SizeIs(7));
}

TEST_F(RewritingTest, ADefaultIsWhatItStandsFor) {
  const ValueId x = input();
  weights_.add("w", DType::kF32, 1, 64);
  output(builder_.apply("rms_norm", "implicit", {x}, {tensor("w")}));
  output(builder_.apply("rms_norm", "explicit", {x}, {tensor("w")}, {{"epsilon", 1e-5}}));
  EXPECT_THAT(run(kCse).changes, ElementsAre("implicit for 1 more"));
  EXPECT_EQ(graph_.outputs()[0], graph_.outputs()[1]);
}

TEST_F(RewritingTest, WritesToAStateAreNeverOne) {
  const ValueId x = input();
  builder_.graph().add_state_group({"kv", StateKind::kFullKv, 0, {0}, 4, 16, 64});
  const ValueId keys =
      linear("k", x, DType::kF32, {{"axis", std::string("kv_heads")}, {"head_dim", int64_t{16}}});
  apply("kv_write", "first", {keys, keys});
  apply("kv_write", "second", {keys, keys});
  EXPECT_THAT(run(kCse).changes, IsEmpty());
}

// --- fuse_qkv and fuse_gate_up: only what takes the same activations ---

Attributes head_axis(const std::string& axis, int64_t head_dim = 16) {
  return {{"axis", axis}, {"head_dim", head_dim}};
}

TEST_F(RewritingTest, ProjectionsOfSeveralTypesFuseWhereTheirActivationsAreAlike) {
  const ValueId x = input();
  output(linear("q", x, DType::kQ5_0, head_axis("heads")));
  output(linear("k", x, DType::kQ5_0, head_axis("kv_heads"), 32));
  output(linear("v", x, DType::kQ8_0, head_axis("kv_heads"), 32));
  const PassReport report = run("fuse_qkv");
  EXPECT_THAT(names(), ElementsAre("q+2"));
  EXPECT_EQ(node("q+2").text("axis"), "heads,kv_heads,kv_heads");
  EXPECT_THAT(node("q+2").origins, ElementsAre("q", "k", "v"));
  EXPECT_THAT(report.rejections, IsEmpty());
}

TEST_F(RewritingTest, AFloatProjectionDoesNotDragTheOthersToFloatRows) {
  const ValueId x = input();
  output(linear("q", x, DType::kQ8_0, head_axis("heads")));
  output(linear("k", x, DType::kQ8_0, head_axis("kv_heads"), 32));
  output(linear("v", x, DType::kF16, head_axis("kv_heads"), 32));
  const PassReport report = run("fuse_qkv");
  EXPECT_THAT(names(), ElementsAre("q+1", "v"));
  ASSERT_THAT(report.rejections, SizeIs(1));
  EXPECT_EQ(report.rejections[0].where, "v");
  EXPECT_THAT(report.rejections[0].reason, HasSubstr("activations"));
}

TEST_F(RewritingTest, FloatRowsSuitEveryWeight) {
  const ValueId x = input();
  output(linear("q", x, DType::kQ8_0, head_axis("heads")));
  output(linear("v", x, DType::kF16, head_axis("kv_heads"), 32));
  PassOptions options;
  options.activations = Activations::kF32;
  run("fuse_qkv", options);
  EXPECT_THAT(names(), ElementsAre("q+1"));
}

TEST_F(RewritingTest, TwoLevelScalesTakeCoarserActivationsOnlyWhereGroupsAreFine) {
  weights_.add("q", DType::kQ4_K, 64, 512);
  weights_.add("k", DType::kQ8_0, 64, 512);
  for (const Activations activations : {Activations::kInt16, Activations::kInt8}) {
    Builder builder(weights_);
    const ValueId x = builder.graph().add_input("x", ElementType::kF32,
                                                {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 512}});
    for (const char* name : {"q", "k"}) {
      builder.graph().add_output(
          builder.apply("linear", name, {x}, {tensor(name)}, head_axis("heads")));
    }
    builder_.graph() = builder.take();
    PassOptions options;
    options.activations = activations;
    run("fuse_qkv", options);
    // int16 has one scale for the row whatever the weights; int8 one per 32, or 256 for Q4_K.
    EXPECT_THAT(names(), SizeIs(activations == Activations::kInt16 ? 1 : 2));
  }
}

TEST_F(RewritingTest, ProjectionsOfAnotherHeadDimStayApart) {
  const ValueId x = input();
  output(linear("a", x, DType::kF32, head_axis("heads", 16)));
  output(linear("b", x, DType::kF32, head_axis("heads", 32)));
  output(linear("c", x, DType::kF32, head_axis("heads", 16)));
  EXPECT_THAT(run("fuse_qkv").rejections, SizeIs(1));
  EXPECT_THAT(names(), ElementsAre("a+1", "b"));
}

TEST_F(RewritingTest, AGateIsFoundOnEitherSideOfTheProduct) {
  const ValueId x = input();
  for (const bool swapped : {false, true}) {
    const std::string suffix = swapped ? " swapped" : "";
    const ValueId gate = apply("silu", "silu" + suffix, {linear("gate" + suffix, x)});
    const ValueId up = linear("up" + suffix, x);
    output(swapped ? apply("multiply", "product swapped", {up, gate})
                   : apply("multiply", "product", {gate, up}));
  }
  EXPECT_THAT(run("fuse_gate_up").changes, SizeIs(2));
  EXPECT_THAT(names(), ElementsAre("gate+up", "gate swapped+up"));
}

TEST_F(RewritingTest, AGateWhoseWeightTakesOtherActivationsIsLeft) {
  const ValueId x = input();
  const ValueId gate = apply("silu", "silu", {linear("gate", x, DType::kBF16)});
  output(apply("multiply", "product", {gate, linear("up", x, DType::kQ8_0)}));
  const PassReport report = run("fuse_gate_up");
  EXPECT_THAT(names(), SizeIs(4));
  ASSERT_THAT(report.rejections, SizeIs(1));
  EXPECT_THAT(report.rejections[0].reason, HasSubstr("different activations"));
}

// --- fuse_bias, fuse_activation ---

class EpilogueTest : public RewritingTest {
 protected:
  ValueId bias(const std::string& name, ValueId x) {
    weights_.add(name, DType::kF32, 1, 64);
    return builder_.apply("bias", name, {x}, {tensor(name)});
  }
};

TEST_F(EpilogueTest, ALinearTakesItsBiasAndThenItsActivation) {
  output(apply("silu", "act", {bias("b", linear("y", input()))}));
  EXPECT_THAT(run("fuse_bias").changes, ElementsAre("y+bias"));
  EXPECT_THAT(names(), ElementsAre("y+bias", "act"));
  EXPECT_EQ(node("y+bias").integer("bias"), 1);
  EXPECT_EQ(linear_biases(node("y+bias"))[0]->text(), "b");
}

TEST_F(EpilogueTest, AnActivationBehindALinearIsAppliedAsItWrites) {
  output(apply("silu", "act", {linear("y", input())}));
  EXPECT_THAT(run("fuse_activation").changes, ElementsAre("y+silu"));
  EXPECT_THAT(names(), ElementsAre("y+silu"));
  EXPECT_EQ(node("y+silu").text("activation"), "silu");
  EXPECT_THAT(node("y+silu").origins, ElementsAre("y", "act"));
}

TEST_F(EpilogueTest, WhatOthersReadBeforeTheBiasStays) {
  const ValueId y = linear("y", input());
  output(apply("add", "sum", {bias("b", y), y}));
  EXPECT_THAT(run("fuse_bias").rejections, SizeIs(1));
  EXPECT_THAT(names(), ElementsAre("y", "b", "sum"));
}

TEST_F(EpilogueTest, WhatOthersReadBeforeTheActivationStays) {
  const ValueId y = linear("y", input());
  output(apply("add", "sum", {apply("silu", "act", {y}), y}));
  EXPECT_THAT(run("fuse_activation").rejections, SizeIs(1));
  EXPECT_THAT(names(), ElementsAre("y", "act", "sum"));
}

TEST_F(EpilogueTest, ASecondBiasStays) {
  output(bias("second", bias("first", linear("y", input()))));
  const PassReport report = run("fuse_bias");
  EXPECT_THAT(names(), ElementsAre("y+bias", "second"));
  ASSERT_THAT(report.rejections, SizeIs(1));
  EXPECT_THAT(report.rejections[0].reason, HasSubstr("has a bias already"));
}

TEST_F(EpilogueTest, ALinearWithAnActivationTakesNoResidual) {
  const ValueId x = input();
  weights_.add("y", DType::kF32, 64, 64);
  const ValueId y =
      builder_.apply("linear", "y", {x}, {tensor("y")}, {{"activation", std::string("silu")}});
  output(apply("add", "sum", {x, y}));
  EXPECT_THAT(run("fuse_residual").rejections, SizeIs(1));
  EXPECT_THAT(names(), ElementsAre("y", "sum"));
}

// --- fuse_residual ---

TEST_F(RewritingTest, AResidualThatIsReadTwiceIsLeftAlone) {
  const ValueId x = input();
  const ValueId y = linear("y", x);
  const ValueId sum = apply("add", "sum", {x, y});
  output(apply("multiply", "product", {sum, y}));
  EXPECT_THAT(run("fuse_residual").rejections, SizeIs(1));
  EXPECT_THAT(names(), ElementsAre("y", "sum", "product"));
}

TEST_F(RewritingTest, ALinearIsNotItsOwnResidual) {
  const ValueId y = linear("y", input());
  output(apply("add", "twice", {y, y}));
  const PassReport report = run("fuse_residual");
  EXPECT_THAT(names(), ElementsAre("y", "twice"));
  ASSERT_THAT(report.rejections, SizeIs(1));
  EXPECT_THAT(report.rejections[0].reason, HasSubstr("one value"));
}

TEST_F(RewritingTest, TheOtherOperandIsTriedWhereTheFirstLinearHasAResidualAlready) {
  const ValueId x = input();
  const ValueId z = input("z");
  weights_.add("a", DType::kF32, 64, 64);
  const ValueId a = builder_.apply("linear", "a", {x, z}, {tensor("a")});
  const ValueId b = linear("b", x);
  output(apply("add", "sum", {a, b}));
  run("fuse_residual");
  EXPECT_THAT(names(), ElementsAre("a", "b+residual"));
  EXPECT_EQ(node("b+residual").inputs[1], node("a").outputs[0]);
}

TEST_F(RewritingTest, ASumOfNoLinearSaysWhyForBothOperands) {
  const ValueId x = input();
  const ValueId y = input("y");
  output(apply("add", "sum", {x, y}));
  const PassReport report = run("fuse_residual");
  ASSERT_THAT(report.rejections, SizeIs(1));
  EXPECT_THAT(report.rejections[0].reason,
              AllOf(HasSubstr("x is not produced"), HasSubstr("y is not produced")));
}

// --- fuse_residual_norm ---

class ResidualNormTest : public RewritingTest {
 protected:
  ValueId norm(const std::string& name, ValueId x, double epsilon = 1e-6) {
    weights_.add(name, DType::kF32, 1, 64);
    return builder_.apply("rms_norm", name, {x}, {tensor(name)}, {{"epsilon", epsilon}});
  }
};

TEST_F(ResidualNormTest, PostNormSumAndPreNormBecomeOneNode) {
  const ValueId x = input();
  const ValueId y = input("y");
  const ValueId sum = apply("add", "sum", {x, norm("post", y, 1e-3)});
  output(apply("silu", "read", {norm("pre", sum)}));
  output(sum);
  run("fuse_residual_norm");
  EXPECT_THAT(names(), ElementsAre("sum+norm", "read"));
  const Node& fused = node("sum+norm");
  EXPECT_THAT(fused.inputs, ElementsAre(x, y));
  EXPECT_THAT(fused.origins, ElementsAre("post", "sum", "pre"));
  ASSERT_THAT(fused.weights, SizeIs(2));
  EXPECT_EQ(fused.weights[0]->text(), "post");
  EXPECT_EQ(fused.weights[1]->text(), "pre");
  EXPECT_EQ(fused.real("post_epsilon"), 1e-3);
  EXPECT_EQ(fused.real("epsilon"), 1e-6);
  EXPECT_EQ(graph_.value(fused.outputs[0]).name, "sum");
  EXPECT_EQ(graph_.value(fused.outputs[1]).name, "pre");
}

TEST_F(ResidualNormTest, AnOperandThatOthersReadIsNormedOnItsOwn) {
  const ValueId x = input();
  const ValueId normed = norm("post", input("y"));
  output(norm("pre", apply("add", "sum", {x, normed})));
  output(normed);
  run("fuse_residual_norm");
  EXPECT_THAT(names(), ElementsAre("post", "sum+norm"));
  EXPECT_THAT(node("sum+norm").weights, SizeIs(1));
}

TEST_F(ResidualNormTest, OfTwoNormsOfASumTheSecondStays) {
  const ValueId sum = apply("add", "sum", {input(), input("y")});
  output(norm("first", sum));
  output(norm("second", sum));
  EXPECT_THAT(run("fuse_residual_norm").rejections, SizeIs(1));
  EXPECT_THAT(names(), ElementsAre("sum+norm", "second"));
}

TEST_F(ResidualNormTest, NormsOfHeadsAndSumsOfOneValueAreLeft) {
  const ValueId x = input();
  output(norm("pre", apply("add", "twice", {x, x})));
  const ValueId a = linear("a", x, DType::kF32, head_axis("heads"));
  const ValueId b = linear("b", x, DType::kF32, head_axis("heads"));
  weights_.add("heads", DType::kF32, 1, 16);
  output(builder_.apply("rms_norm", "heads", {apply("add", "sum", {a, b})}, {tensor("heads")}));
  const PassReport report = run("fuse_residual_norm");
  EXPECT_THAT(report.changes, IsEmpty());
  ASSERT_THAT(report.rejections, SizeIs(1));
  EXPECT_THAT(report.rejections[0].reason, HasSubstr("to itself"));
}

TEST_F(ResidualNormTest, ItsNormIsQuantizedWithIt) {
  const ValueId sum = apply("add", "sum", {input(), input("y")});
  const ValueId codes = builder_.apply("quantize", "codes", {norm("pre", sum)}, {},
                                       {{"quantization_group", int64_t{32}}});
  weights_.add("w", DType::kQ8_0, 64, 64);
  output(builder_.apply("linear", "w", {codes}, {tensor("w")}));
  output(sum);
  run("fuse_residual_norm");
  builder_.graph() = graph_;
  run("fuse_norm_quantize");
  EXPECT_THAT(names(), ElementsAre("sum+norm+int8", "w"));
  EXPECT_EQ(node("sum+norm+int8").outputs[0], sum);
  EXPECT_EQ(node("w").inputs[0], node("sum+norm+int8").outputs[1]);
}

// --- fuse_rope_kv_write ---

TEST_F(RewritingTest, AFusedWriteHasTheOriginsOfWhatItReplaces) {
  const ValueId x = input();
  builder_.graph().add_state_group({"kv", StateKind::kFullKv, 0, {0}, 4, 16, 64});
  const ValueId query =
      apply("rope", "query.rope", {linear("q", x, DType::kF32, head_axis("heads"))});
  const ValueId key =
      apply("rope", "key.rope", {linear("k", x, DType::kF32, head_axis("kv_heads"))});
  const ValueId value = linear("v", x, DType::kF32, head_axis("kv_heads"));
  const ValueId state = apply("kv_write", "write", {key, value});
  output(apply("attention", "attention", {query, state, builder_.constant("scale", 0.25)}));
  for (const char* name : {"query.rope", "write"}) {  // as if they stood for more already
    for (const NodeId id : builder_.graph().order()) {
      Node& found = builder_.graph().mutable_node(id);
      if (found.name == name) found.origins.push_back(std::string(name) + " too");
    }
  }
  run("fuse_rope_kv_write");
  EXPECT_THAT(node("write+rope").origins,
              ElementsAre("query.rope", "query.rope too", "key.rope", "write", "write too"));
}

// --- The graph itself ---

TEST_F(RewritingTest, RemovingAnUnknownNodeIsADefect) {
  output(apply("silu", "a", {input()}));
  graph_ = builder_.take();
  for (const NodeId id : {-1, 1, 1000}) {
    try {
      graph_.remove(id);
      FAIL() << id;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    }
  }
  const NodeId a = graph_.order().front();
  graph_.remove(a);
  EXPECT_THROW(graph_.remove(a), Error);
}

// A well-formed attention, of which one thing at a time is wrong.
class StateTest : public RewritingTest {
 protected:
  void SetUp() override {
    const ValueId x = input();
    for (const char* name : {"zero", "one"}) {
      builder_.graph().add_state_group({name, StateKind::kFullKv, 0, {0, 2}, 2, 16, 64});
    }
    const ValueId query = linear("q", x, DType::kF32, head_axis("heads"));
    const ValueId key = linear("k", x, DType::kF32, head_axis("kv_heads"), 32);
    const Attributes place = {{"group", int64_t{1}}, {"layer", int64_t{2}}};
    const ValueId state = builder_.apply("kv_write", "write", {key, key}, {}, place);
    output(builder_.apply("attention", "attention",
                          {query, state, builder_.constant("scale", 0.25)}, {}, place));
    graph_ = builder_.take();
    graph_.verify(weights_);
  }

  Node& mutable_node(const std::string& name) {
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).name == name) return graph_.mutable_node(id);
    }
    throw std::runtime_error("no node " + name);
  }
  void expect_defect(const std::string& says) {
    try {
      graph_.verify(weights_);
      ADD_FAILURE() << "nothing was found: " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInternal) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  }
};

TEST_F(StateTest, GroupsThatAreNotThereAreFound) {
  for (const int64_t group : {int64_t{-1}, int64_t{2}, int64_t{1} << 32}) {
    mutable_node("write").attributes["group"] = group;
    expect_defect("node write (kv_write): state group " + std::to_string(group));
  }
}

TEST_F(StateTest, LayersOutsideTheGroupAreFound) {
  for (const int64_t layer : {int64_t{-1}, int64_t{1}, int64_t{2} + (int64_t{1} << 32)}) {
    mutable_node("attention").attributes["layer"] = layer;
    expect_defect("node attention (attention): layer " + std::to_string(layer));
  }
}

TEST_F(StateTest, HeadsThatTheGroupDoesNotHoldAreFound) {
  graph_.mutable_state_group(1).kv_heads = 3;
  expect_defect("node write (kv_write): keys");
  graph_.mutable_state_group(1).kv_heads = 2;
  graph_.mutable_state_group(1).head_dim = 32;
  expect_defect("node write (kv_write): keys");
}

TEST_F(StateTest, QueriesThatKeyHeadsDoNotDivideAreFound) {
  // The write goes to the other group, which keeps its shape.
  mutable_node("write").attributes["group"] = int64_t{0};
  graph_.mutable_state_group(1).kv_heads = 3;
  expect_defect("node attention (attention): queries");
  graph_.mutable_state_group(1).kv_heads = 0;
  expect_defect("node attention (attention): queries");
}

TEST_F(StateTest, AttentionToAnotherLayersStateIsFound) {
  mutable_node("write").attributes["layer"] = int64_t{0};
  expect_defect("reads what write writes for another layer");
}

TEST_F(StateTest, UnknownValuesAreFound) {
  const ValueId query = mutable_node("attention").inputs[0];
  for (const ValueId id : {-1, static_cast<ValueId>(graph_.value_count())}) {
    mutable_node("attention").inputs[0] = id;
    expect_defect("node attention (attention): reads the unknown value");
  }
  mutable_node("attention").inputs[0] = query;
  graph_.add_output(1000);
  expect_defect("the unknown value 1000");
}

TEST_F(StateTest, ShapesThatThePassesSpoilAreDefects) {
  mutable_node("attention").inputs[1] = mutable_node("attention").inputs[0];
  expect_defect("node attention (attention): second input must be the state");
}

}  // namespace
}  // namespace adze::graph
