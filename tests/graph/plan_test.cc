// Plans over providers that compute in the simplest way: who runs what, in which order, with whom,
// and which batches are refused.
#include "graph/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "fake_weights.h"
#include "graph/builder.h"
#include "graph/operator.h"
#include "graph/verify.h"

namespace adze::graph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kWidth = 8;
constexpr int32_t kVocabulary = 50;

// Nodes as [rows, kWidth] floats: every member computes its rows of a node, then all meet.
class SlowPartition final : public CompiledPartition {
 public:
  SlowPartition(const Graph& graph, std::span<const NodeId> nodes, std::atomic<int>& runs,
                std::vector<BatchSequence>& seen)
      : runs_(runs), seen_(seen) {
    for (const NodeId id : nodes) nodes_.push_back(graph.node(id));
  }

  void run(const RunContext& context) override {
    ++runs_;
    if (context.member == 0) {
      seen_.insert(seen_.end(), context.batch->sequences.begin(), context.batch->sequences.end());
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i > 0) context.barrier->wait();
      compute(nodes_[i], context);
    }
  }
  int barriers() const override { return static_cast<int>(nodes_.size()) - 1; }
  std::string kernels(NodeId) const override { return "slow"; }
  size_t weight_bytes() const override { return 100; }

 private:
  static float* row(const RunContext& context, ValueId value, int64_t index) {
    return reinterpret_cast<float*>(context.values[static_cast<size_t>(value)]) + index * kWidth;
  }

  static void compute(const Node& node, const RunContext& context) {
    const bool sampled = node.op->name == "gather_sampled";
    const auto rows = static_cast<int64_t>(sampled ? context.batch->sampled_rows.size()
                                                   : context.batch->tokens.size());
    const Range mine = member_range(rows, context.member, context.members);
    for (int64_t r = mine.begin; r < mine.end; ++r) {
      float* out = row(context, node.outputs[0], r);
      for (int64_t c = 0; c < kWidth; ++c) out[c] = element(node, context, rows, r, c);
    }
  }

  static float element(const Node& node, const RunContext& context, int64_t rows, int64_t r,
                       int64_t c) {
    const auto input = [&](size_t i, int64_t index) {
      return row(context, node.inputs[i], index)[c];
    };
    const auto place = static_cast<size_t>(r);
    if (node.op->name == "embedding") {
      return static_cast<float>(context.batch->tokens[place] * 10 + c);
    }
    if (node.op->name == "add") return input(0, r) + input(1, r);
    if (node.op->name == "gather_sampled") return input(0, context.batch->sampled_rows[place]);
    // "silu" looks at the rows of all members.
    float sum = 0;
    for (int64_t other = 0; other < rows; ++other) sum += input(0, other);
    return sum;
  }

  std::vector<Node> nodes_;
  std::atomic<int>& runs_;
  std::vector<BatchSequence>& seen_;
};

class SlowProvider final : public Provider {
 public:
  using Refuses = std::function<std::optional<std::string>(const Node&)>;
  SlowProvider(std::string name, Refuses refuses)
      : name_(std::move(name)), refuses_(std::move(refuses)) {}

  std::string_view name() const override { return name_; }
  std::optional<std::string> refuses(const Graph&, const Node& node,
                                     const WeightSource&) const override {
    return refuses_(node);
  }
  size_t value_bytes(const Value& value, int64_t rows) const override {
    asked[value.name] = rows;
    return static_cast<size_t>(rows * row_elements(value.shape)) * sizeof(float);
  }
  void lay_out_state(Graph&) const override {}
  std::unique_ptr<CompiledPartition> compile(const Graph& graph, std::span<const NodeId> nodes,
                                             const WeightSource&, const PlanOptions&, ThreadPool&,
                                             const LoadProgress&) override {
    return std::make_unique<SlowPartition>(graph, nodes, runs, seen);
  }

  std::atomic<int> runs = 0;                     // of members through partitions
  std::vector<BatchSequence> seen;               // of every run of a partition
  mutable std::map<std::string, int64_t> asked;  // value → rows

 private:
  std::string name_;
  Refuses refuses_;
};

SlowProvider::Refuses nothing() {
  return [](const Node&) { return std::nullopt; };
}
SlowProvider::Refuses ops(std::vector<std::string> names, std::string reason) {
  return [names = std::move(names),
          reason = std::move(reason)](const Node& node) -> std::optional<std::string> {
    for (const std::string& name : names) {
      if (node.op->name == name) return reason;
    }
    return std::nullopt;
  };
}

// x + sum over rows of x, twice; the sampled rows of that. One state group.
Graph slow_graph(FakeWeights& weights) {
  weights.add("table", DType::kF32, kVocabulary, kWidth);
  Builder builder(weights);
  const ValueId tokens =
      builder.graph().add_input("tokens", ElementType::kI32, {{Axis::kTokens, kSymbolic}});
  ValueId x = builder.apply("embedding", "embed", {tokens}, {tensor("table")});
  for (int i = 0; i < 2; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    const ValueId sum = builder.apply("silu", layer + ".sum", {x});
    x = builder.apply("add", layer + ".add", {x, sum});
  }
  builder.graph().add_output(builder.apply("gather_sampled", "sampled", {x}));
  builder.graph().add_state_group({"state", StateKind::kFullKv, 0, {0}, 1, 16, 64});
  return builder.take();
}

// What slow_graph computes, without a graph.
std::vector<float> expected(const std::vector<int32_t>& tokens, const std::vector<int32_t>& rows) {
  std::vector<float> x;
  for (const int32_t token : tokens) {
    for (int64_t c = 0; c < kWidth; ++c) x.push_back(static_cast<float>(token * 10 + c));
  }
  for (int i = 0; i < 2; ++i) {
    std::vector<float> sums(kWidth, 0);
    for (size_t j = 0; j < x.size(); ++j) sums[j % kWidth] += x[j];
    for (size_t j = 0; j < x.size(); ++j) x[j] += sums[j % kWidth];
  }
  std::vector<float> out;
  for (const int32_t row : rows) {
    out.insert(out.end(), x.begin() + row * kWidth, x.begin() + (row + 1) * kWidth);
  }
  return out;
}

std::vector<std::string> names(const Graph& graph, const Partition& partition) {
  std::vector<std::string> out;
  for (const NodeId id : partition.nodes) out.push_back(graph.node(id).name);
  return out;
}

TEST(AssignProviders, TheFirstThatDoesNotRefuseGetsTheNode) {
  FakeWeights weights;
  const Graph graph = slow_graph(weights);
  SlowProvider fast("fast", ops({"silu", "gather_sampled"}, "no sums"));
  SlowProvider sums("sums", ops({"add", "embedding", "gather_sampled"}, "only sums"));
  SlowProvider any("any", nothing());
  Provider* const providers[] = {&fast, &sums, &any};
  const auto partitions = assign_providers(graph, providers, weights);
  ASSERT_EQ(partitions.size(), 6u);
  EXPECT_EQ(partitions[0].provider, &fast);
  EXPECT_THAT(names(graph, partitions[0]), ElementsAre("embed"));
  EXPECT_EQ(partitions[1].provider, &sums);
  EXPECT_EQ(partitions[2].provider, &fast);
  EXPECT_EQ(partitions[5].provider, &any);
  EXPECT_THAT(names(graph, partitions[5]), ElementsAre("sampled"));
}

TEST(AssignProviders, PartitionsAreTheOrderCutWhereTheProviderChanges) {
  FakeWeights weights;
  const Graph graph = slow_graph(weights);
  // Any sharing of the six nodes between two providers.
  for (unsigned mask = 0; mask < 64; ++mask) {
    const auto first_takes = [&](const Node& node) {
      for (size_t i = 0; i < graph.order().size(); ++i) {
        if (graph.node(graph.order()[i]).name == node.name) return (mask >> i & 1) != 0;
      }
      return false;
    };
    SlowProvider first("first", [&](const Node& node) -> std::optional<std::string> {
      if (first_takes(node)) return std::nullopt;
      return "not its turn";
    });
    SlowProvider second("second", nothing());
    Provider* const providers[] = {&first, &second};
    std::vector<NodeId> all;
    const Provider* before = nullptr;
    for (const Partition& partition : assign_providers(graph, providers, weights)) {
      EXPECT_NE(partition.provider, before);
      EXPECT_FALSE(partition.nodes.empty());
      before = partition.provider;
      for (const NodeId id : partition.nodes) {
        EXPECT_EQ(partition.provider == &first, first_takes(graph.node(id)));
        all.push_back(id);
      }
    }
    EXPECT_EQ(all, graph.order());
  }
}

TEST(AssignProviders, WhereAllRefuseTheErrorNamesNodeAndEveryReason) {
  FakeWeights weights;
  const Graph graph = slow_graph(weights);
  SlowProvider one("one", ops({"silu"}, "cannot sum"));
  SlowProvider two("two", ops({"silu", "add"}, "has no exponential"));
  Provider* const providers[] = {&one, &two};
  try {
    assign_providers(graph, providers, weights);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("layer0.sum"), HasSubstr("silu"), HasSubstr("one: cannot sum"),
                      HasSubstr("two: has no exponential")));
  }
  EXPECT_THAT([&] { assign_providers(graph, {}, weights); },
              ThrowsMessage<Error>(HasSubstr("embed")));
}

class PlanTest : public testing::Test {
 protected:
  static constexpr PlanOptions kOptions = {.max_rows = 40, .max_sampled = 3, .max_context = 100};

  // A plan whose sums, if `shared`, run on another provider than the rest.
  void make(int threads, bool shared, const PlanOptions& options = kOptions) {
    plan_.reset();
    pool_ = std::make_unique<ThreadPool>(threads);
    first_ = std::make_unique<SlowProvider>("first", shared ? ops({"silu"}, "no") : nothing());
    second_ = std::make_unique<SlowProvider>("second", nothing());
    Provider* const providers[] = {first_.get(), second_.get()};
    plan_ = std::make_unique<Plan>(slow_graph(weights_), providers, weights_, options, *pool_);
  }

  // One sequence of all rows, with blocks enough.
  void fill(int32_t rows) {
    tokens_.clear();
    for (int32_t i = 0; i < rows; ++i) tokens_.push_back((i * 7 + 3) % kVocabulary);
    sampled_ = {rows - 1};
    sequences_.assign(1, {});
    sequences_[0].rows = rows;
    sequences_[0].blocks = {blocks_};
  }
  void run() { plan_->run({tokens_, sequences_, sampled_}); }
  int runs() const { return first_->runs + second_->runs; }

  FakeWeights weights_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<SlowProvider> first_;
  std::unique_ptr<SlowProvider> second_;
  std::unique_ptr<Plan> plan_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(64);
  std::vector<std::byte*> blocks_ = std::vector<std::byte*>(4, memory_.data());  // 128 tokens
  std::vector<int32_t> tokens_;
  std::vector<int32_t> sampled_;
  std::vector<BatchSequence> sequences_;
};

TEST_F(PlanTest, EveryMemberWalksEveryPartition) {
  for (const bool shared : {false, true}) {
    for (const int threads : {1, 2, 3, 4}) {
      make(threads, shared);
      const int partitions = shared ? 5 : 1;
      EXPECT_EQ(plan_->partitions().size(), static_cast<size_t>(partitions));
      EXPECT_EQ(plan_->barriers(), 5);
      EXPECT_EQ(plan_->weight_bytes(), 100u * static_cast<size_t>(partitions));
      int walks = 0;
      for (const int32_t rows : {1, 2, 5, 40, 3}) {
        fill(rows);
        sampled_ = {0};
        if (rows > 2) sampled_ = {0, rows / 2, rows - 1};
        run();
        EXPECT_THAT(runs(), Eq(threads * partitions * ++walks));
        const auto output = plan_->output();
        EXPECT_EQ(std::vector<float>(output.begin(), output.end()), expected(tokens_, sampled_))
            << rows << " rows, " << threads << " threads";
      }
      sampled_.clear();  // a chunk in the middle of a prompt
      run();
      EXPECT_TRUE(plan_->output().empty());
    }
  }
}

TEST_F(PlanTest, MemoryIsAskedForAsManyRowsAsARunMayHave) {
  make(1, true);
  EXPECT_EQ(first_->asked.at("embed"), 40);
  EXPECT_EQ(first_->asked.at("sampled"), 3);
  EXPECT_EQ(second_->asked.at("layer0.sum"), 40);
  EXPECT_FALSE(first_->asked.contains("tokens"));
  EXPECT_GE(plan_->memory().peak_bytes, 2u * 40 * kWidth * sizeof(float));
}

TEST_F(PlanTest, BatchesThatFitRun) {
  make(2, true);
  fill(40);
  sequences_[0].first_position = 60;  // 100 tokens in all
  EXPECT_NO_THROW(run());
  fill(10);
  sampled_ = {0, 5, 9};
  sequences_.assign(3, sequences_[0]);
  sequences_[0].rows = 1;
  sequences_[1].first_row = 1;
  sequences_[1].rows = 8;
  sequences_[2].first_row = 9;
  sequences_[2].rows = 1;
  sequences_[2].first_position = 99;
  EXPECT_NO_THROW(run());
}

struct Wrong {
  std::string name;
  std::function<void(std::vector<int32_t>&, std::vector<int32_t>&, std::vector<BatchSequence>&)>
      change;
  std::string says;
  ErrorKind kind = ErrorKind::kInvalidInput;
};

std::vector<Wrong> wrong_batches() {
  using Rows = std::vector<int32_t>&;
  using Sequences = std::vector<BatchSequence>&;
  const auto one = [](std::string name, std::function<void(BatchSequence&)> change,
                      std::string says, ErrorKind kind = ErrorKind::kInvalidInput) {
    return Wrong{std::move(name), [change](Rows, Rows, Sequences s) { change(s[0]); },
                 std::move(says), kind};
  };
  const auto token = [](int32_t id) {
    return Wrong{"token " + std::to_string(id), [id](Rows t, Rows, Sequences) { t[7] = id; },
                 "token id " + std::to_string(id)};
  };
  const auto sampled = [](std::vector<int32_t> rows, std::string says) {
    return Wrong{"sampled rows, " + says, [rows](Rows, Rows r, Sequences) { r = rows; }, says};
  };
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  static std::byte* const block = nullptr;
  using B = BatchSequence;
  return {
      {"no rows", [](Rows t, Rows, Sequences) { t.clear(); }, "0 rows"},
      {"too many rows", [](Rows t, Rows, Sequences) { t.resize(41); }, "41 rows"},
      sampled({0, 1, 2, 3}, "4 sampled rows"),
      sampled({3, 3}, "sampled row 3"),
      sampled({4, 3}, "sampled row 3"),
      sampled({10}, "sampled row 10"),
      sampled({-1}, "sampled row -1"),
      sampled({kMost}, "sampled row 2147483647"),
      token(-1),
      token(kVocabulary),
      token(kMost),
      token(kLeast),
      {"no sequence", [](Rows, Rows, Sequences s) { s.clear(); }, "0 rows of 10"},
      one(
          "fewer rows", [](B& s) { s.rows = 9; }, "9 rows of 10"),
      one(
          "more rows", [](B& s) { s.rows = 11; }, "11 rows"),
      one(
          "most rows", [](B& s) { s.rows = kMost; }, "2147483647 rows"),
      one(
          "no rows of a sequence", [](B& s) { s.rows = 0; }, "0 rows"),
      one(
          "negative rows", [](B& s) { s.rows = -1; }, "-1 rows"),
      one(
          "late start", [](B& s) { s.first_row = 1; }, "row 1"),
      one(
          "negative start", [](B& s) { s.first_row = -1; }, "row -1"),
      one(
          "negative position", [](B& s) { s.first_position = -1; }, "position -1"),
      one(
          "past the context", [](B& s) { s.first_position = 91; }, "101 tokens"),
      one(
          "last position", [](B& s) { s.first_position = kMost; }, "2147483657 tokens"),
      {"overlapping sequences", [](Rows, Rows, Sequences s) { s.push_back(s[0]); }, "10 rows"},
      one(
          "no block table", [](B& s) { s.blocks.clear(); }, "0 block tables for 1"),
      one(
          "two block tables", [](B& s) { s.blocks.resize(2); }, "2 block tables for 1"),
      one(
          "no blocks", [](B& s) { s.blocks[0] = {}; }, "0 cache blocks"),
      one(
          "too few blocks",
          [](B& s) {
            s.first_position = 23;
            s.blocks[0] = {&block, 1};
          },
          "33 tokens need 2"),
      one(
          "mask", [](B& s) { s.mask = MaskKind::kBidirectional; }, "mask", ErrorKind::kUnsupported),
      one(
          "adapter", [](B& s) { s.adapter = 0; }, "adapter", ErrorKind::kUnsupported),
      one(
          "pooling", [](B& s) { s.pooling = Pooling::kMean; }, "pooling", ErrorKind::kUnsupported),
  };
}

TEST_F(PlanTest, BatchesThatDoNotFitAreNamedAndWriteNothing) {
  make(2, true);
  fill(5);
  run();
  const std::vector<float> before(plan_->output().begin(), plan_->output().end());
  const int runs_before = runs();
  for (const Wrong& wrong : wrong_batches()) {
    fill(10);
    wrong.change(tokens_, sampled_, sequences_);
    try {
      run();
      ADD_FAILURE() << wrong.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), wrong.kind) << wrong.name;
      EXPECT_THAT(error.what(), AllOf(HasSubstr("batch"), HasSubstr(wrong.says))) << wrong.name;
    }
    EXPECT_EQ(runs(), runs_before) << wrong.name;
    EXPECT_EQ(std::vector<float>(plan_->output().begin(), plan_->output().end()), before);
  }
}

// Sums of the numbers in a batch must not overflow, whatever the plan takes.
TEST_F(PlanTest, NumbersAtTheEndOfTheirRangeAreRefused) {
  make(1, false, {.max_rows = 40, .max_sampled = 3, .max_context = INT32_MAX});
  fill(10);
  sequences_.assign(2, sequences_[0]);
  sequences_[0].rows = INT32_MAX;
  sequences_[1].first_row = INT32_MAX;
  EXPECT_THAT([&] { run(); }, ThrowsMessage<Error>(HasSubstr("batch")));
}

// Positions from one segment of attention to the next, in rows that are compared; and no graph but
// the first computes what comes before them.
TEST(PassVerifierBatches, ReachTheSecondSegmentWithoutRunningTheFirstAgain) {
  constexpr int32_t kSegment = 256;  // docs/architecture.md
  FakeWeights weights;
  const Graph graph = slow_graph(weights);
  SlowProvider provider("any", nothing());
  Provider* const providers[] = {&provider};
  ThreadPool pool(1);
  PassVerifier verifier(providers, weights, pool);
  verifier.start(graph);
  int32_t rows = 0;
  for (const BatchSequence& sequence : provider.seen) rows += sequence.rows;
  EXPECT_GT(rows, kSegment);
  provider.seen.clear();
  PassReport report;
  report.name = "nothing";
  verifier.check(graph, report);
  rows = 0;
  bool crosses = false;
  bool decodes_behind = false;
  for (const BatchSequence& sequence : provider.seen) {
    rows += sequence.rows;
    const int32_t end = sequence.first_position + sequence.rows;
    crosses |= sequence.first_position < kSegment && end > kSegment;
    decodes_behind |= sequence.rows == 1 && end > kSegment;
  }
  EXPECT_TRUE(crosses && decodes_behind);
  ASSERT_EQ(verifier.checks().size(), 1u);
  EXPECT_EQ(verifier.checks()[0].rows, rows);
  EXPECT_TRUE(verifier.checks()[0].bit_identical);
}

}  // namespace
}  // namespace adze::graph
