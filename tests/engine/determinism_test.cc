// The determinism contract, bit for bit: threads, chunks, company in the batch, float
// and integer activations. On a small random model always; on the model named by ADZE_MODEL too,
// where there is one.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "tiny_model.h"

namespace adze::engine {
namespace {

struct Case {
  std::string name;
  std::string cache = "bf16";
  graph::Activations activations = graph::Activations::kInt16;
  DType linear = DType::kQ4_1;
  bool real = false;
  int window = 0;  // TinyModelSpec's
  int32_t sinks = 0;
};

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class DeterminismTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().real) {
      const char* path = std::getenv("ADZE_MODEL");
      if (path == nullptr) GTEST_SKIP() << "ADZE_MODEL names no model";
      path_ = path;
    } else {
      path_ = testing::TempDir() + "tiny_" + GetParam().name + ".gguf";
      TinyModelSpec spec;
      spec.linear = GetParam().linear;
      spec.window = GetParam().window;
      if (spec.window > 0) spec.layers = 7;
      write_tiny_model(path_, spec);
    }
  }

  std::unique_ptr<LoadedModel> load(int threads, int32_t max_rows) const {
    ModelOptions options;
    options.threads = threads;
    options.cache_dtype = *ops::cache_dtype_from_name(GetParam().cache);
    options.sinks = GetParam().sinks;
    options.passes.activations = GetParam().activations;
    options.plan.max_rows = max_rows;
    return std::make_unique<LoadedModel>(path_, options);
  }

  std::string path_;
};

std::vector<int32_t> prompt_of(const LoadedModel& model, size_t length, int seed) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<int32_t>((i * i * 31 + i * 17 + static_cast<size_t>(seed) * 101) %
                                          static_cast<size_t>(model.config().vocabulary - 2)));
  }
  return tokens;
}

Request request_of(const LoadedModel& model, size_t length, int seed, bool greedy) {
  Request request;
  request.tokens = prompt_of(model, length, seed);
  request.max_tokens = 12;
  request.ignore_end = true;
  request.sampling.temperature = greedy ? 0.0 : 1.0;
  request.sampling.frequency_penalty = greedy ? 0.0 : 0.5;
  request.sampling.seed = static_cast<uint64_t>(seed);
  return request;
}

// Runs requests together; the tokens of each.
std::vector<std::vector<int32_t>> answers(LoadedModel& model, std::vector<Request> requests) {
  Engine engine(model, {4096, 16});
  const int32_t free_before = engine.cache().available(0);
  std::vector<std::vector<int32_t>> out(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Listener listener;
    listener.on_token = [&out, i](const TokenInfo& token) { out[i].push_back(token.token); };
    engine.submit(std::move(requests[i]), std::move(listener));
  }
  while (engine.step()) {
  }
  EXPECT_EQ(engine.cache().available(0), free_before);
  return out;
}

// Teacher-forced logits of all tokens, `chunk` rows at a time.
std::vector<uint32_t> logit_bits(LoadedModel& model, const std::vector<int32_t>& tokens,
                                 size_t chunk) {
  // Every group keeps every block: what a window hides must not show.
  std::deque<kvcache::BlockPool> pools;
  std::vector<std::vector<std::byte*>> tables;
  for (const graph::StateGroup& group : model.plan().graph().state_groups()) {
    const auto blocks = static_cast<int32_t>(tokens.size() / 32 + 1);
    pools.emplace_back(group.block_bytes(), blocks);
    tables.emplace_back();
    for (int32_t i = 0; i < blocks; ++i) tables.back().push_back(pools.back().allocate());
  }
  std::vector<uint32_t> bits;
  for (size_t first = 0; first < tokens.size(); first += chunk) {
    const size_t rows = std::min(chunk, tokens.size() - first);
    graph::BatchSequence sequence;
    sequence.rows = static_cast<int32_t>(rows);
    sequence.first_position = static_cast<int32_t>(first);
    for (const auto& table : tables) sequence.blocks.emplace_back(table);
    // The last row of the chunk only: a plan samples few rows.
    const std::vector<int32_t> sampled = {static_cast<int32_t>(rows) - 1};
    graph::Batch batch;
    batch.tokens = std::span(tokens).subspan(first, rows);
    batch.sequences = {&sequence, 1};
    batch.sampled_rows = sampled;
    model.plan().run(batch);
    if (first + rows == tokens.size()) {
      for (const float logit : model.plan().output())
        bits.push_back(std::bit_cast<uint32_t>(logit));
    }
  }
  return bits;
}

TEST_P(DeterminismTest, ThreadsAndChunksDoNotChangeLogits) {
  const auto one = load(1, 512);
  const auto two = load(2, 512);
  for (const size_t length : {size_t{1}, size_t{33}, size_t{300}}) {
    const std::vector<int32_t> tokens = prompt_of(*one, length, 3);
    const std::vector<uint32_t> expected = logit_bits(*one, tokens, 512);
    for (const size_t chunk : {1, 7, 32, 100, 512}) {
      if (GetParam().real && chunk == 1 && length > 40) continue;  // minutes under a sanitizer
      EXPECT_EQ(logit_bits(*two, tokens, chunk), expected) << length << " tokens by " << chunk;
    }
    EXPECT_EQ(logit_bits(*one, tokens, 7), expected) << length;
  }
}

TEST_P(DeterminismTest, CompanyInTheBatchDoesNotChangeAnswers) {
  const auto alone = load(1, 64);
  const auto together = load(2, 48);
  for (const bool greedy : {true, false}) {
    std::vector<Request> batch;
    std::vector<std::vector<int32_t>> expected;
    for (int i = 0; i < 8; ++i) {
      const size_t length = 3 + static_cast<size_t>(i) * 37;
      batch.push_back(request_of(*alone, length, i, greedy));
      expected.push_back(answers(*alone, {request_of(*alone, length, i, greedy)}).front());
      EXPECT_EQ(expected.back().size(), 12u);
    }
    EXPECT_EQ(answers(*together, std::move(batch)), expected) << (greedy ? "greedy" : "sampled");
  }
}

// Two conversations turn by turn on one engine, each of their requests alone on another.
TEST_P(DeterminismTest, AReusedBeginningDoesNotChangeAnswers) {
  const auto model = load(2, 48);
  Engine engine(*model, {2048, 2});
  std::vector<std::vector<int32_t>> history = {prompt_of(*model, 90, 1), prompt_of(*model, 90, 1)};
  history[1].resize(70);  // the first's beginning
  for (int turn = 0; turn < 4; ++turn) {
    for (size_t i = 0; i < history.size(); ++i) {
      Request request = request_of(*model, 1, 7, turn % 2 == 0);
      request.tokens = history[i];
      const std::vector<int32_t> expected = answers(*model, {request}).front();
      const int64_t reused = engine.reused_tokens();
      std::vector<int32_t> answer;
      Listener listener;
      listener.on_token = [&](const TokenInfo& token) { answer.push_back(token.token); };
      engine.submit(std::move(request), std::move(listener));
      while (engine.step()) {
      }
      EXPECT_EQ(answer, expected) << "turn " << turn << " of conversation " << i;
      // All full blocks of the last turn; of the second conversation's beginning, the first's.
      if (turn > 0 || i > 0) {
        const size_t known = turn > 0 ? history[i].size() - 31 : 70;
        EXPECT_GE(engine.reused_tokens() - reused + 31, static_cast<int64_t>(known));
      }
      history[i].insert(history[i].end(), answer.begin(), answer.end());
      const std::vector<int32_t> more = prompt_of(*model, 30, turn + static_cast<int>(i));
      history[i].insert(history[i].end(), more.begin(), more.end());
    }
  }
}

// Sinks as long as the text leave nothing for a window to hide.
TEST(Engine, SinksAreSeenBesideTheWindow) {
  std::vector<std::vector<uint32_t>> logits;
  for (const auto& [window, sinks] : {std::pair{400, 0}, {40, 400}, {40, 8}, {40, 0}}) {
    const std::string path = testing::TempDir() + "tiny_sinks.gguf";
    TinyModelSpec spec;
    spec.layers = 7;
    spec.window = window;
    write_tiny_model(path, spec);
    ModelOptions options;
    options.sinks = sinks;
    LoadedModel model(path, options);
    EXPECT_EQ(model.plan().graph().state_groups()[1].sinks, sinks);
    logits.push_back(logit_bits(model, prompt_of(model, 300, 3), 64));
  }
  EXPECT_EQ(logits[1], logits[0]);
  EXPECT_NE(logits[2], logits[0]);
  EXPECT_NE(logits[2], logits[3]);
}

// Layers with a window hold what it shows, however long the text: the rest of the group's pool does
// not exist.
TEST(Engine, AWindowBoundsTheMemoryOfItsLayers) {
  const std::string path = testing::TempDir() + "tiny_window.gguf";
  TinyModelSpec spec;
  spec.layers = 7;
  spec.window = 64;
  spec.context = 8192;
  write_tiny_model(path, spec);
  ModelOptions options;
  options.plan.max_rows = 32;
  options.plan.max_context = spec.context;
  LoadedModel model(path, options);
  Engine engine(model, {0, 1});
  const std::vector<graph::StateGroup>& groups = model.plan().graph().state_groups();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].window, 0);
  EXPECT_EQ(groups[0].layers, std::vector<int32_t>{5});
  EXPECT_EQ(groups[1].window, 64);
  EXPECT_EQ(engine.cache().total(0), 256);
  EXPECT_EQ(engine.cache().total(1), 4);  // 63 positions before 32 rows, from anywhere in a block
  Request request = request_of(model, 6000, 1, true);
  request.max_tokens = 200;
  engine.submit(std::move(request), {});
  while (engine.step()) {
  }
  EXPECT_EQ(engine.prompt_rows() + engine.decode_rows(), 6199);
}

constexpr auto kF32 = graph::Activations::kF32;
constexpr auto kInt8 = graph::Activations::kInt8;
constexpr auto kInt16 = graph::Activations::kInt16;

INSTANTIATE_TEST_SUITE_P(
    Models, DeterminismTest,
    testing::Values(Case{"q4_1"}, Case{"q4_1_int8", "bf16", kInt8},
                    Case{"q8_0_f32cache", "f32", kInt8, DType::kQ8_0},
                    Case{"q8_0_int8cache", "int8", kInt16, DType::kQ8_0},
                    Case{"q4_0_f32", "f32", kF32, DType::kQ4_0},
                    Case{"bf16", "bf16", kInt16, DType::kBF16},
                    Case{"window", "bf16", kInt16, DType::kQ8_0, false, 40},
                    Case{"window_int8", "int8", kInt16, DType::kQ8_0, false, 270},
                    Case{"sinks", "bf16", kInt16, DType::kQ8_0, false, 40, 4},
                    Case{"sinks_f32", "f32", kInt16, DType::kQ8_0, false, 20, 33},
                    Case{"real", "bf16", kInt16, DType::kQ4_1, true}),
    case_name);

TEST(Engine, RefusesWhatCannotBeServed) {
  const std::string path = testing::TempDir() + "tiny_refuse.gguf";
  write_tiny_model(path);
  LoadedModel model(path, {});
  Engine engine(model, {64, 4});
  const auto refuses = [&](Request request, ErrorKind kind) {
    try {
      engine.submit(std::move(request), {});
      return false;
    } catch (const Error& error) {
      return error.kind() == kind;
    }
  };
  EXPECT_TRUE(refuses({}, ErrorKind::kInvalidInput));
  EXPECT_TRUE(refuses(Request{{1000000}, 5, {}, {}, false}, ErrorKind::kInvalidInput));
  EXPECT_TRUE(refuses(Request{{1}, 0, {}, {}, false}, ErrorKind::kInvalidInput));
  EXPECT_TRUE(refuses(Request{{1}, 500, {}, {}, false}, ErrorKind::kResourceExhausted));
  EXPECT_TRUE(refuses(Request{{1}, 5, {}, {""}, false}, ErrorKind::kInvalidInput));
  Request request{{1}, 5, {}, {}, false};
  request.sampling.logit_bias = {{model.config().vocabulary, 1}};
  EXPECT_TRUE(refuses(request, ErrorKind::kInvalidInput));
  request.sampling.logit_bias.clear();
  for (const int32_t count : {-1, kMaxLogProbabilities + 1}) {
    request.log_probabilities = count;
    EXPECT_TRUE(refuses(request, ErrorKind::kInvalidInput));
  }
  EXPECT_FALSE(engine.step());
}

TEST(Engine, ABiasThatLeavesNoTokenEndsItsRequestAlone) {
  const std::string path = testing::TempDir() + "tiny_bias.gguf";
  write_tiny_model(path);
  LoadedModel model(path, {});
  Engine engine(model, {256, 4});
  std::vector<std::string> errors(2);
  std::vector<FinishReason> reasons(2);
  for (size_t i = 0; i < 2; ++i) {
    Request request{{1, 2, 3}, 4, {}, {}, true};
    for (int32_t token = 0; i == 0 && token < model.config().vocabulary; ++token) {
      request.sampling.logit_bias.push_back({token, -std::numeric_limits<double>::infinity()});
    }
    Listener listener;
    listener.on_finish = [&, i](FinishReason reason, std::string_view, std::string_view error) {
      reasons[i] = reason;
      errors[i] = error;
    };
    engine.submit(std::move(request), std::move(listener));
  }
  while (engine.step()) {
  }
  EXPECT_EQ(reasons, (std::vector{FinishReason::kError, FinishReason::kLength}));
  EXPECT_EQ(errors, (std::vector<std::string>{"logit_bias: no token is left", ""}));
}

TEST(Engine, ACancelledRequestBehindOthersFinishesInTheNextStep) {
  const std::string path = testing::TempDir() + "tiny_queue.gguf";
  write_tiny_model(path);
  LoadedModel model(path, {});
  Engine engine(model, {1024, 1});
  for (const int seed : {1, 2}) engine.submit(request_of(model, 40, seed, true), {});
  std::optional<FinishReason> finished;
  Listener listener;
  listener.on_finish = [&](FinishReason reason, std::string_view, std::string_view) {
    finished = reason;
  };
  engine.cancel(engine.submit(request_of(model, 40, 3, true), std::move(listener)));
  engine.step();
  EXPECT_EQ(finished, FinishReason::kCancelled);
}

TEST(Engine, ListenersMayThrowSubmitAndCancel) {
  const std::string path = testing::TempDir() + "tiny_listeners.gguf";
  write_tiny_model(path);
  LoadedModel model(path, {});
  const std::vector<int32_t> expected = answers(model, {request_of(model, 40, 1, true)}).front();
  Engine engine(model, {1024, 4});
  const int32_t free_before = engine.cache().available(0);
  std::vector<int32_t> kept;
  std::string thrown;
  int finished = 0;
  Listener bystander;
  bystander.on_token = [&](const TokenInfo& token) { kept.push_back(token.token); };
  Listener throws_at_token;
  throws_at_token.on_token = [](const TokenInfo&) { throw std::runtime_error("a pipe"); };
  throws_at_token.on_finish = [&](FinishReason reason, std::string_view, std::string_view why) {
    EXPECT_EQ(reason, FinishReason::kError);
    thrown = why;
  };
  engine.submit(request_of(model, 40, 5, true), std::move(throws_at_token));
  engine.submit(request_of(model, 40, 1, true), std::move(bystander));
  // Two that end in one step: the first throws, the second cancels it and submits another.
  RequestId ended = 0;
  for (const bool throws : {true, false}) {
    Listener listener;
    listener.on_finish = [&, throws](FinishReason, std::string_view, std::string_view) {
      ++finished;
      if (throws) throw std::runtime_error("at the end");
      engine.cancel(ended);
      engine.submit(request_of(model, 8, 2, true), {});
    };
    Request request = request_of(model, 40, 6, true);
    request.max_tokens = 2;
    const RequestId id = engine.submit(std::move(request), std::move(listener));
    if (throws) ended = id;
  }
  int errors = 0;
  for (bool more = true; more;) {
    try {
      more = engine.step();
    } catch (const std::runtime_error&) {
      ++errors;
    }
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(finished, 2);
  EXPECT_EQ(thrown, "a pipe");
  EXPECT_EQ(kept, expected);
  EXPECT_EQ(engine.cache().available(0), free_before);
  EXPECT_THROW(Engine(model, {1024, 0}), Error);
}

TEST(Engine, CancelGivesBlocksBackAndLeavesOthersAlone) {
  const std::string path = testing::TempDir() + "tiny_cancel.gguf";
  write_tiny_model(path);
  LoadedModel model(path, {});
  const std::vector<int32_t> expected = answers(model, {request_of(model, 40, 1, true)}).front();
  Engine engine(model, {1024, 4});
  const int32_t free_before = engine.cache().available(0);
  std::vector<int32_t> kept;
  std::map<RequestId, FinishReason> finished;
  const auto submit = [&](int seed, bool keep) {
    Listener listener;
    if (keep) listener.on_token = [&](const TokenInfo& token) { kept.push_back(token.token); };
    auto id = std::make_shared<RequestId>(0);
    listener.on_finish = [&finished, id](FinishReason reason, std::string_view, std::string_view) {
      finished[*id] = reason;
    };
    *id = engine.submit(request_of(model, 40, seed, true), std::move(listener));
    return *id;
  };
  const RequestId first = submit(5, false);
  const RequestId second = submit(1, true);
  const RequestId third = submit(6, false);
  engine.cancel(third);  // before it ran at all
  engine.step();
  engine.step();
  engine.cancel(first);
  while (engine.step()) {
  }
  EXPECT_EQ(kept, expected);
  EXPECT_EQ(finished[first], FinishReason::kCancelled);
  EXPECT_EQ(finished[second], FinishReason::kLength);
  EXPECT_EQ(finished[third], FinishReason::kCancelled);
  EXPECT_EQ(engine.cache().available(0), free_before);
}

}  // namespace
}  // namespace adze::engine
