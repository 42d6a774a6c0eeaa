// The C interface, and through it the C++ one it is made of: what they give is what the engine
// gives, and what is wrong becomes a status and a line.
#include <adze/adze.h>
#include <adze/engine.h>
#include <adze/error.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/tiny_model.h"
#include "tests/base/counted_allocations.h"

namespace adze {
namespace {

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<double> log_probabilities;
  std::vector<size_t> likeliest;
  std::string text;
  int32_t reason = -1;
  int finishes = 0;
  std::string error;
  size_t stop_after = 100;
  adze_engine* engine = nullptr;
  adze_status nested = ADZE_OK;
};

int on_token(void* user, const adze_token* token) {
  auto& answer = *static_cast<Answer*>(user);
  answer.tokens.push_back(token->id);
  answer.text.append(token->text, token->text_bytes);
  if (token->has_log_probability != 0) {
    answer.log_probabilities.push_back(token->log_probability);
    answer.likeliest.push_back(token->likeliest_count);
  }
  if (answer.engine != nullptr) {
    int more = 0;
    answer.nested = adze_engine_step(answer.engine, &more, nullptr);
  }
  return answer.tokens.size() >= answer.stop_after ? 1 : 0;
}

void on_finish(void* user, const adze_finish* finish) {
  auto& answer = *static_cast<Answer*>(user);
  answer.text.append(finish->text, finish->text_bytes);
  answer.reason = finish->reason;
  ++answer.finishes;
  answer.error = finish->error;
}

class Api : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "tiny_api.gguf";
    write_tiny_model(path_);
    ASSERT_EQ(adze_model_open(path_.c_str(), nullptr, &model_, &error_), ADZE_OK) << error_.message;
    ASSERT_EQ(adze_engine_create(model_, nullptr, &engine_, &error_), ADZE_OK) << error_.message;
    ASSERT_EQ(adze_request_init(&request_, sizeof request_, &error_), ADZE_OK);
    request_.tokens = prompt_.data();
    request_.token_count = prompt_.size();
    request_.max_tokens = 10;
    request_.ignore_end = 1;
    request_.on_token = on_token;
    request_.on_finish = on_finish;
    request_.user = &answer_;
  }
  void TearDown() override {
    adze_engine_destroy(engine_);
    adze_model_close(model_);
  }
  void finish_all() {
    for (int more = 1; more != 0;) {
      ASSERT_EQ(adze_engine_step(engine_, &more, &error_), ADZE_OK) << error_.message;
    }
  }
  // The message of a submission that must fail.
  std::string refusal(const adze_request* request) {
    EXPECT_EQ(adze_engine_submit(engine_, request, nullptr, &error_), ADZE_INVALID_INPUT);
    return error_.message;
  }

  std::string path_;
  const std::vector<int32_t> prompt_ = {72, 105, 33};
  adze_model* model_ = nullptr;
  adze_engine* engine_ = nullptr;
  adze_request request_ = {};
  adze_error error_ = {};
  Answer answer_;
};

TEST_F(Api, AnswersAsTheEngineDoes) {
  request_.seed = 17;
  request_.temperature = 0.9;
  request_.top_k = 25;
  request_.top_p = 0.9;
  request_.min_p = 0.01;
  request_.typical_p = 0.95;
  request_.top_n_sigma = 3;
  request_.repetition_penalty = 1.2;
  request_.frequency_penalty = 0.3;
  request_.presence_penalty = 0.2;
  request_.penalty_window = 6;
  request_.log_probabilities = 2;
  const adze_logit_bias bias = {65, 0, 2.5};
  request_.logit_bias = &bias;
  request_.logit_bias_count = 1;
  uint64_t id = 0;
  ASSERT_EQ(adze_engine_submit(engine_, &request_, &id, &error_), ADZE_OK) << error_.message;
  EXPECT_NE(id, 0u);
  finish_all();

  engine::LoadedModel model(path_, {});
  engine::Engine engine(model, {});
  engine::Request request;
  request.tokens = prompt_;
  request.max_tokens = 10;
  request.ignore_end = true;
  request.log_probabilities = 2;
  SamplingParams& sampling = request.sampling;
  sampling.seed = 17;
  sampling.temperature = 0.9;
  sampling.top_k = 25;
  sampling.top_p = 0.9;
  sampling.min_p = 0.01;
  sampling.typical_p = 0.95;
  sampling.top_n_sigma = 3;
  sampling.repetition_penalty = 1.2;
  sampling.frequency_penalty = 0.3;
  sampling.presence_penalty = 0.2;
  sampling.penalty_window = 6;
  sampling.logit_bias = {{65, 2.5}};
  Answer expected;
  engine::Listener listener;
  listener.on_token = [&](const engine::TokenInfo& token) {
    expected.tokens.push_back(token.token);
    expected.text += token.text;
    expected.log_probabilities.push_back(token.log_probabilities->chosen);
  };
  listener.on_finish = [&](engine::FinishReason, std::string_view text, std::string_view) {
    expected.text += text;
  };
  engine.submit(std::move(request), std::move(listener));
  while (engine.step()) {
  }
  EXPECT_EQ(answer_.tokens, expected.tokens);
  EXPECT_EQ(answer_.text, expected.text);
  EXPECT_EQ(answer_.log_probabilities, expected.log_probabilities);
  EXPECT_EQ(answer_.likeliest, std::vector<size_t>(10, 2));
  EXPECT_EQ(answer_.reason, ADZE_FINISH_LENGTH);
  EXPECT_EQ(answer_.error, "");
}

TEST_F(Api, StopsWhenAskedTo) {
  answer_.stop_after = 3;
  ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
  Answer cancelled;
  request_.user = &cancelled;
  uint64_t id = 0;
  ASSERT_EQ(adze_engine_submit(engine_, &request_, &id, &error_), ADZE_OK);
  ASSERT_EQ(adze_engine_cancel(engine_, id, &error_), ADZE_OK);
  ASSERT_EQ(adze_engine_cancel(engine_, 12345, &error_), ADZE_OK);
  finish_all();
  EXPECT_EQ(answer_.tokens.size(), 3u);
  EXPECT_EQ(answer_.reason, ADZE_FINISH_CANCELLED);
  EXPECT_EQ(cancelled.tokens.size(), 0u);
  EXPECT_EQ(cancelled.reason, ADZE_FINISH_CANCELLED);
}

TEST_F(Api, ACallbackCannotStep) {
  answer_.engine = engine_;
  ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
  finish_all();
  EXPECT_EQ(answer_.nested, ADZE_INVALID_INPUT);
  EXPECT_EQ(answer_.tokens.size(), 10u);
}

TEST_F(Api, TextAndTokensWithBuffersOfAnySize) {
  const std::string text = "Grüße!";
  int32_t tokens[16];
  size_t count = 0;
  ASSERT_EQ(adze_tokenize(model_, text.data(), text.size(), 0, nullptr, 0, &count, &error_),
            ADZE_BUFFER_TOO_SMALL);
  EXPECT_STRNE(error_.message, "");
  EXPECT_EQ(count, text.size());  // a vocabulary of bytes
  tokens[0] = -7;
  EXPECT_EQ(adze_tokenize(model_, text.data(), text.size(), 0, tokens, count - 1, &count, &error_),
            ADZE_BUFFER_TOO_SMALL);
  EXPECT_EQ(tokens[0], -7);
  ASSERT_EQ(adze_tokenize(model_, text.data(), text.size(), 0, tokens, 16, &count, &error_),
            ADZE_OK);
  char back[16];
  size_t bytes = 0;
  ASSERT_EQ(adze_detokenize(model_, tokens, count, back, sizeof back, &bytes, &error_), ADZE_OK);
  EXPECT_EQ(std::string(back, bytes), text);
  ASSERT_EQ(adze_tokenize(model_, "<|im_end|>", 10, 0, tokens, 16, &count, &error_), ADZE_OK);
  EXPECT_EQ(count, 10u);
  ASSERT_EQ(adze_tokenize(model_, "<|im_end|>", 10, 1, tokens, 16, &count, &error_), ADZE_OK);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(adze_tokenize(model_, nullptr, 0, 0, nullptr, 0, &count, &error_), ADZE_OK);
  EXPECT_EQ(count, 0u);
  const int32_t wrong = 258;
  EXPECT_EQ(adze_detokenize(model_, &wrong, 1, back, sizeof back, &bytes, &error_),
            ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_chat_tokens(model_, nullptr, "x", tokens, 16, &count, &error_), ADZE_UNSUPPORTED);
  EXPECT_EQ(adze_model_vocabulary(model_), 258);
  EXPECT_EQ(adze_model_context(model_), 1024);
}

TEST_F(Api, NullIsAStatus) {
  adze_model* model = nullptr;
  adze_engine* engine = nullptr;
  size_t count = 0;
  int more = 0;
  EXPECT_EQ(adze_model_open(nullptr, nullptr, &model, &error_), ADZE_INVALID_INPUT);
  EXPECT_STREQ(error_.message, "path: NULL");
  EXPECT_EQ(adze_model_open(path_.c_str(), nullptr, nullptr, nullptr), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_model_options_init(nullptr, 32, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_options_init(nullptr, 16, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_request_init(nullptr, sizeof request_, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_create(nullptr, nullptr, &engine, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_create(model_, nullptr, nullptr, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_submit(nullptr, &request_, nullptr, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_submit(engine_, nullptr, nullptr, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_cancel(nullptr, 1, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_step(nullptr, &more, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_step(engine_, nullptr, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_tokenize(nullptr, "x", 1, 0, nullptr, 0, &count, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_tokenize(model_, nullptr, 1, 0, nullptr, 0, &count, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_tokenize(model_, "x", 1, 0, nullptr, 1, &count, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_tokenize(model_, "x", 1, 0, nullptr, 0, nullptr, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_detokenize(model_, nullptr, 1, nullptr, 0, &count, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_chat_tokens(model_, nullptr, nullptr, nullptr, 0, &count, &error_),
            ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_model_vocabulary(nullptr), 0);
  EXPECT_EQ(adze_model_context(nullptr), 0);
  adze_model_close(nullptr);
  adze_engine_destroy(nullptr);
}

TEST_F(Api, NamesWhatIsWrongWithARequest) {
  adze_request wrong = request_;
  wrong.tokens = nullptr;
  EXPECT_EQ(refusal(&wrong), "tokens: NULL with 3 elements");
  wrong = request_;
  wrong.token_count = 0;
  EXPECT_EQ(refusal(&wrong), "prompt: no tokens");
  wrong = request_;
  wrong.stop_count = 1;
  EXPECT_EQ(refusal(&wrong), "stop: NULL with 1 elements");
  const char* nothing = nullptr;
  wrong.stop = &nothing;
  EXPECT_EQ(refusal(&wrong), "stop: NULL");
  // Each number arrives in the field that it is meant for.
  const std::pair<const char*, double adze_request::*> numbers[] = {
      {"repetition_penalty", &adze_request::repetition_penalty},
      {"frequency_penalty", &adze_request::frequency_penalty},
      {"presence_penalty", &adze_request::presence_penalty},
      {"temperature", &adze_request::temperature},
      {"top_n_sigma", &adze_request::top_n_sigma},
      {"top_p", &adze_request::top_p},
      {"min_p", &adze_request::min_p},
      {"typical_p", &adze_request::typical_p}};
  for (const auto& [name, field] : numbers) {
    wrong = request_;
    wrong.*field = -77;
    EXPECT_EQ(refusal(&wrong).substr(0, std::strlen(name) + 5), std::string(name) + ": -77");
  }
  const std::pair<const char*, int32_t adze_request::*> whole_numbers[] = {
      {"top_k", &adze_request::top_k},
      {"penalty_window", &adze_request::penalty_window},
      {"max_tokens", &adze_request::max_tokens}};
  for (const auto& [name, field] : whole_numbers) {
    wrong = request_;
    wrong.*field = -77;
    EXPECT_EQ(refusal(&wrong).substr(0, std::strlen(name) + 5), std::string(name) + ": -77");
  }
  wrong = request_;
  wrong.log_probabilities = -2;
  EXPECT_EQ(refusal(&wrong), "logprobs: -2 is not from 0 to 20");
  wrong = request_;
  const adze_logit_bias bias = {300, 0, 1};
  wrong.logit_bias = &bias;
  wrong.logit_bias_count = SIZE_MAX;
  EXPECT_EQ(refusal(&wrong).substr(0, 11), "logit_bias:");
  wrong.logit_bias_count = 1;
  EXPECT_EQ(refusal(&wrong), "logit_bias: token id 300 is not from 0 to 257");
  const adze_request empty = {};
  EXPECT_EQ(refusal(&empty).substr(0, 20), "request: a size of 0");
}

TEST_F(Api, StructsOfOtherVersions) {
  struct Newer {
    adze_request request;
    uint64_t field;
  } newer;
  std::memset(&newer, 0xff, sizeof newer);
  ASSERT_EQ(adze_request_init(&newer.request, sizeof newer, &error_), ADZE_OK);
  EXPECT_EQ(newer.field, 0u);
  newer.request = request_;
  newer.request.size = sizeof newer;
  EXPECT_EQ(adze_engine_submit(engine_, &newer.request, nullptr, &error_), ADZE_OK);
  newer.field = 1;
  EXPECT_EQ(adze_engine_submit(engine_, &newer.request, nullptr, &error_), ADZE_UNSUPPORTED);
  EXPECT_EQ(adze_request_init(&request_, sizeof request_ - 1, &error_), ADZE_INVALID_INPUT);
}

TEST_F(Api, NamesWhatIsWrongWithFilesAndOptions) {
  adze_model* model = model_;
  EXPECT_EQ(adze_model_open("/no/such.gguf", nullptr, &model, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::string(error_.message).find("/no/such.gguf"), std::string::npos);
  const std::string long_name = "/no/" + std::string(1018, 'x') + "üü";
  EXPECT_NE(adze_model_open(long_name.c_str(), nullptr, &model, &error_), ADZE_OK);
  EXPECT_EQ(std::strlen(error_.message), 1022u);  // whole characters
  adze_model_options options;
  const auto refused = [&](int32_t adze_model_options::*field, int32_t value) {
    EXPECT_EQ(adze_model_options_init(&options, sizeof options, &error_), ADZE_OK);
    options.*field = value;
    EXPECT_EQ(adze_model_open(path_.c_str(), &options, &model, &error_), ADZE_INVALID_INPUT);
    const std::string message = error_.message;
    return message.substr(0, message.find(':'));
  };
  EXPECT_EQ(refused(&adze_model_options::threads, -1), "threads");
  EXPECT_EQ(refused(&adze_model_options::context, 0), "context");
  EXPECT_EQ(refused(&adze_model_options::max_rows, 0), "max_rows");
  EXPECT_EQ(refused(&adze_model_options::max_sequences, 0), "max_sequences");
  EXPECT_EQ(refused(&adze_model_options::cache_type, 3), "cache_type");
  adze_engine* second = nullptr;
  EXPECT_EQ(adze_engine_create(model_, nullptr, &second, &error_), ADZE_INVALID_INPUT);
  EXPECT_STREQ(error_.message, "model: another engine has it");
  adze_engine_destroy(engine_);
  engine_ = nullptr;
  adze_engine_options cache = {};
  cache.size = sizeof cache;
  cache.cache_tokens = -1;
  EXPECT_EQ(adze_engine_create(model_, &cache, &second, &error_), ADZE_INVALID_INPUT);
  EXPECT_EQ(adze_engine_create(model_, nullptr, &second, &error_), ADZE_OK) << error_.message;
  adze_model_close(model_);  // the engine keeps what it needs
  model_ = nullptr;
  engine_ = second;
  ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
  finish_all();
  EXPECT_EQ(answer_.tokens.size(), 10u);
}

TEST_F(Api, SpeculationChangesNoAnswer) {
  ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
  finish_all();
  const Answer plain = std::exchange(answer_, {});
  adze_model* draft = nullptr;
  ASSERT_EQ(adze_model_open(path_.c_str(), nullptr, &draft, &error_), ADZE_OK) << error_.message;
  adze_engine_options options;
  ASSERT_EQ(adze_engine_options_init(&options, sizeof options, &error_), ADZE_OK);
  EXPECT_EQ(options.speculated_tokens, 0);
  EXPECT_EQ(options.draft, nullptr);
  const auto create = [&] {
    adze_engine_destroy(std::exchange(engine_, nullptr));
    return adze_engine_create(model_, &options, &engine_, &error_);
  };
  for (adze_model* proposes : {static_cast<adze_model*>(nullptr), draft}) {
    options.draft = proposes;
    options.speculated_tokens = 4;
    ASSERT_EQ(create(), ADZE_OK) << error_.message;
    ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
    finish_all();
    const Answer answer = std::exchange(answer_, {});
    EXPECT_EQ(answer.tokens, plain.tokens);
    EXPECT_EQ(answer.text, plain.text);
  }
  options.speculated_tokens = 0;
  EXPECT_EQ(create(), ADZE_INVALID_INPUT);
  EXPECT_STREQ(error_.message, "speculated_tokens: 0 leaves the draft nothing to propose");
  options.draft = nullptr;
  options.speculated_tokens = -1;
  EXPECT_EQ(create(), ADZE_INVALID_INPUT);
  EXPECT_STREQ(error_.message, "speculated_tokens: -1 is below 0");
  options.speculated_tokens = 4;
  options.draft = model_;
  EXPECT_EQ(create(), ADZE_INVALID_INPUT);
  EXPECT_STREQ(error_.message, "model: another engine has it");
  // A caller of the first version, whose struct ends before the draft.
  options.size = 16;
  options.speculated_tokens = 0;
  EXPECT_EQ(create(), ADZE_OK) << error_.message;
  adze_model_close(draft);
}

TEST_F(Api, StoppingAtTheLastTokenCancels) {
  answer_.stop_after = 10;  // max_tokens
  ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
  finish_all();
  EXPECT_EQ(answer_.tokens.size(), 10u);
  EXPECT_EQ(answer_.reason, ADZE_FINISH_CANCELLED);
}

TEST_F(Api, ReservedFieldsAreZero) {
  request_.reserved = 1;
  EXPECT_EQ(refusal(&request_), "request: reserved is 1, not 0");
}

// Every allocation of a submission, of an answer and of loading fails once.
TEST_F(Api, AFailedAllocationIsAStatus) {
  const char* stop[] = {"a text that is long enough to be allocated"};
  request_.stop = stop;
  request_.stop_count = 1;
  request_.log_probabilities = 2;
  ASSERT_EQ(adze_engine_submit(engine_, &request_, nullptr, &error_), ADZE_OK);
  finish_all();
  const std::vector<int32_t> expected = answer_.tokens;
  ASSERT_EQ(expected.size(), 10u);

  const FailedAllocations failed = fail_each_allocation([&] {
    answer_ = {};
    answer_.tokens.reserve(10);
    answer_.log_probabilities.reserve(10);
    answer_.likeliest.reserve(10);
    answer_.text.reserve(64);
    answer_.error.reserve(64);
    const adze_status status = adze_engine_submit(engine_, &request_, nullptr, &error_);
    if (status != ADZE_OK) {
      ASSERT_EQ(status, ADZE_RESOURCE_EXHAUSTED) << error_.message;
      ASSERT_STREQ(error_.message, "out of memory");
      throw std::bad_alloc();
    }
    for (int more = 1; more != 0;) {
      const adze_status step = adze_engine_step(engine_, &more, &error_);
      if (step == ADZE_OK) continue;
      ASSERT_EQ(step, ADZE_RESOURCE_EXHAUSTED) << error_.message;
    }
    ASSERT_EQ(answer_.finishes, 1);
    if (answer_.reason == ADZE_FINISH_ERROR) {
      ASSERT_EQ(answer_.error, "out of memory");
    } else {
      ASSERT_EQ(answer_.tokens, expected);
    }
  });
  EXPECT_GT(failed.thrown, 5u);
  EXPECT_GT(failed.all, failed.thrown + 10);
}

// Opens the model, lets it answer and closes it. Throws std::bad_alloc where a status said so.
void open_and_answer(const std::string& path) {
  adze_model_options options;
  ASSERT_EQ(adze_model_options_init(&options, sizeof options, nullptr), ADZE_OK);
  options.threads = 2;
  adze_model* model = nullptr;
  adze_engine* engine = nullptr;
  adze_error error = {};
  const auto succeeded = [&](adze_status status) {
    if (status == ADZE_OK) return;
    adze_engine_destroy(engine);
    adze_model_close(model);
    EXPECT_EQ(status, ADZE_RESOURCE_EXHAUSTED) << error.message;
    throw std::bad_alloc();
  };
  const adze_status opened = adze_model_open(path.c_str(), &options, &model, &error);
  EXPECT_EQ(model == nullptr, opened != ADZE_OK);
  succeeded(opened);
  succeeded(adze_engine_create(model, nullptr, &engine, &error));
  const std::vector<int32_t> prompt = {72, 105, 33};
  Answer answer;
  adze_request request;
  ASSERT_EQ(adze_request_init(&request, sizeof request, nullptr), ADZE_OK);
  request.tokens = prompt.data();
  request.token_count = prompt.size();
  request.max_tokens = 2;
  request.on_finish = on_finish;
  request.user = &answer;
  succeeded(adze_engine_submit(engine, &request, nullptr, &error));
  bool failed = false;
  for (int more = 1; more != 0;) {
    failed |= adze_engine_step(engine, &more, &error) != ADZE_OK;
  }
  EXPECT_EQ(answer.finishes, 1);
  failed |= answer.reason == ADZE_FINISH_ERROR;
  succeeded(failed ? ADZE_RESOURCE_EXHAUSTED : ADZE_OK);
  adze_engine_destroy(engine);
  adze_model_close(model);
}

// With ADZE_EVERY_ALLOCATION every one of a tiny model fails once, which takes minutes.
TEST(Loading, AFailedAllocationIsAStatus) {
  const std::string gguf = testing::TempDir() + "tiny_loading.gguf";
  write_tiny_model(gguf);
  const std::string folder = ADZE_SOURCE_DIR "/tests/golden/tiny/gemma3_bf16";
  for (const std::string& path : {gguf, folder}) {
    const auto body = [&] { open_and_answer(path); };
    const FailedAllocations failed = std::getenv("ADZE_EVERY_ALLOCATION") != nullptr
                                         ? fail_each_allocation(body)
                                         : fail_some_allocations(1000, body);
    EXPECT_GE(failed.all, 900u) << path;
    // Sorts can do without the memory that they ask for first.
    EXPECT_LE(failed.all - failed.thrown, 4u) << path;
  }
}

TEST(Loading, AFailedAllocationOfARealModelIsAStatus) {
  const size_t samples = std::getenv("ADZE_EVERY_ALLOCATION") != nullptr ? 500 : 15;
  bool any = false;
  for (const char* variable : {"ADZE_MODEL", "ADZE_GEMMA"}) {
    const char* path = std::getenv(variable);
    if (path == nullptr) continue;
    any = true;
    const FailedAllocations failed = fail_some_allocations(samples, [&] { open_and_answer(path); });
    EXPECT_GE(failed.all, samples * 9 / 10) << path;
    EXPECT_LE(failed.all - failed.thrown, 4u) << path;
  }
  if (!any) GTEST_SKIP() << "neither ADZE_MODEL nor ADZE_GEMMA names a model";
}

// Whatever a listener throws ends its own request; the others of the batch go on.
TEST(CppApi, AListenerThatThrowsEndsItsRequestAlone) {
  const std::string path = testing::TempDir() + "tiny_throwing.gguf";
  write_tiny_model(path);
  Model model(path);
  Engine engine(model);
  std::vector<std::string> errors;
  std::vector<FinishReason> reasons;
  const auto submit = [&](std::function<bool(const Token&)> on_token) {
    Request request;
    request.tokens = {72, 105};
    request.max_tokens = 4;
    request.ignore_end = true;
    request.on_token = std::move(on_token);
    request.on_finish = [&](const Finish& finish) {
      reasons.push_back(finish.reason);
      errors.emplace_back(finish.error);
    };
    engine.submit(std::move(request));
  };
  submit([](const Token&) -> bool { throw std::runtime_error(std::string(100, 'x')); });
  submit([](const Token&) -> bool { throw 7; });
  submit([](const Token&) { return true; });
  while (engine.step()) {
  }
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_EQ(reasons[0], FinishReason::kError);
  EXPECT_EQ(errors[0], std::string(100, 'x'));
  EXPECT_EQ(reasons[1], FinishReason::kError);
  EXPECT_NE(errors[1], "");
  EXPECT_EQ(reasons[2], FinishReason::kLength);
}

TEST(CppApi, FunctionsMayThrowAndModelsMove) {
  const std::string path = testing::TempDir() + "tiny_cpp_api.gguf";
  write_tiny_model(path);
  Model first(path);
  const Tokenizer tokenizer = first.tokenizer();
  Model model = std::move(first);
  Engine engine(model);
  FinishReason reason = FinishReason::kStop;
  std::string error;
  Request request;
  request.tokens = tokenizer.encode("Hi");
  request.on_token = [](const Token&) -> bool { throw std::runtime_error("no more"); };
  request.on_finish = [&](const Finish& finish) {
    reason = finish.reason;
    error = finish.error;
  };
  engine.submit(request);
  Engine moved = std::move(engine);
  while (moved.step()) {
  }
  EXPECT_EQ(reason, FinishReason::kError);
  EXPECT_EQ(error, "no more");
  EXPECT_THROW(Model("/no/such.gguf"), Error);
  EXPECT_EQ(tokenizer.decode({72, 105}),
            tokenizer.decode(tokenizer.encode(tokenizer.decode({72, 105}))));
}

}  // namespace
}  // namespace adze
