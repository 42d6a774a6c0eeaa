// What a plan refuses before it writes anything, on a small random model.
#include "graph/plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/loaded_model.h"
#include "kvcache/block_pool.h"
#include "tiny_model.h"

namespace adze::engine {
namespace {

class PlanTest : public testing::Test {
 protected:
  PlanTest() : model_(make()), pool_(group().block_bytes(), 4) {
    for (int i = 0; i < 4; ++i) table_.push_back(pool_.allocate());
    sequence_.rows = 3;
    sequence_.blocks = {table_};
  }

  static LoadedModel make() {
    const std::string path = testing::TempDir() + "plan.gguf";
    write_tiny_model(path);
    ModelOptions options;
    options.threads = 2;
    options.plan.max_rows = 8;
    options.plan.max_sampled = 2;
    options.plan.max_context = 64;
    return LoadedModel(path, options);
  }
  const graph::StateGroup& group() const { return model_.plan().graph().state_groups().front(); }

  void run() {
    graph::Batch batch;
    batch.tokens = tokens_;
    batch.sequences = {&sequence_, 1};
    batch.sampled_rows = sampled_;
    model_.plan().run(batch);
  }

  // That the run is refused with a message that has `part`, and that no block was written.
  void expect_refused(const std::string& part) {
    const std::vector<std::byte> before(table_[0], table_[0] + group().block_bytes());
    try {
      run();
      FAIL() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_TRUE(std::equal(before.begin(), before.end(), table_[0]));
  }

  LoadedModel model_;
  kvcache::BlockPool pool_;
  std::vector<std::byte*> table_;
  graph::BatchSequence sequence_;
  std::vector<int32_t> tokens_ = {1, 2, 3};
  std::vector<int32_t> sampled_ = {2};
};

TEST_F(PlanTest, ABatchThatFitsRuns) {
  run();
  EXPECT_EQ(model_.plan().output().size(), static_cast<size_t>(kTinyVocabulary));
}

TEST_F(PlanTest, RefusesWhatDoesNotFit) {
  const auto with = [&](const std::string& part, const std::function<void()>& change) {
    const auto tokens = tokens_;
    const auto sampled = sampled_;
    const graph::BatchSequence sequence = sequence_;
    change();
    expect_refused(part);
    tokens_ = tokens;
    sampled_ = sampled;
    sequence_ = sequence;
  };
  with("rows", [&] { tokens_.clear(); });
  with("rows", [&] { tokens_.assign(9, 1); });
  with("token id", [&] { tokens_[1] = kTinyVocabulary; });
  with("token id", [&] { tokens_[1] = -1; });
  with("sampled", [&] { sampled_ = {3}; });
  with("sampled", [&] { sampled_ = {-1}; });
  with("sampled", [&] { sampled_ = {1, 1}; });
  with("sampled", [&] { sampled_ = {0, 1, 2}; });
  with("rows", [&] { sequence_.rows = 2; });
  with("rows", [&] { sequence_.first_row = 1; });
  with("rows", [&] { sequence_.first_position = -1; });
  with("tokens", [&] { sequence_.first_position = 62; });
  with("cache blocks", [&] { sequence_.blocks = {std::span(table_).first(0)}; });
  with("block tables", [&] { sequence_.blocks = {}; });
  with("causal", [&] { sequence_.mask = graph::MaskKind::kBidirectional; });
  with("adapter", [&] { sequence_.adapter = 0; });
  run();  // it was none of them that broke it
}

}  // namespace
}  // namespace adze::engine
