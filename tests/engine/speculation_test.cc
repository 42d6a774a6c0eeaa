// Speculative decoding changes how fast answers come and not a bit of them.
#include "engine/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "tiny_model.h"

namespace adze::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(ProposalLength, GrowsWhileAllAreAccepted) {
  ProposalLength length(10);
  for (const int32_t expected : {3, 6, 10, 10}) {
    ASSERT_EQ(length.next(), expected);
    length.told(expected, expected);
  }
  length.told(10, 2);
  EXPECT_EQ(length.next(), 3);  // one more than came true
}

TEST(ProposalLength, WhatIsNeverAcceptedIsHardlyEverProposed) {
  ProposalLength length(8);
  int proposals = 0;
  for (int step = 0; step < 1000; ++step) {
    const int32_t next = length.next();
    if (next == 0) continue;
    EXPECT_LE(next, 3);
    length.told(next, 0);
    ++proposals;
  }
  EXPECT_GE(proposals, 15);
  EXPECT_LE(proposals, 25);
  while (length.next() == 0) {
  }
  // One success makes the pauses short again.
  length.told(3, 3);
  length.told(length.next(), 0);
  int pause = 0;
  while (length.next() == 0) ++pause;
  EXPECT_LT(pause, 40);
}

TEST(ProposalLength, ProposesNoMoreThanItMay) {
  ProposalLength length(1);
  EXPECT_EQ(length.next(), 1);
  length.told(1, 1);
  EXPECT_EQ(length.next(), 1);
}

std::string model_file(const std::string& name, const TinyModelSpec& spec) {
  const std::string path = testing::TempDir() + "tiny_speculation_" + name + ".gguf";
  write_tiny_model(path, spec);
  return path;
}

std::unique_ptr<LoadedModel> load(const std::string& path, int32_t max_sampled = 16) {
  ModelOptions options;
  options.threads = 1;
  options.plan.max_rows = 48;
  options.plan.max_sampled = max_sampled;
  return std::make_unique<LoadedModel>(path, options);
}

class Lookup : public testing::Test {
 protected:
  std::vector<int32_t> propose(const std::vector<int32_t>& tokens, int32_t most) {
    return proposer_->propose({1, tokens, 1000, ""}, most);
  }

  std::unique_ptr<LoadedModel> model_ = load(model_file("lookup", {}));
  std::unique_ptr<Proposer> proposer_ =
      make_proposer({Speculation::kLookup, 8, nullptr}, *model_, 1024, 1);
};

TEST_F(Lookup, ProposesWhatFollowedBefore) {
  EXPECT_THAT(propose({5, 0, 1, 2, 3, 4, 9, 0, 1, 2}, 3), ElementsAre(3, 4, 9));
  EXPECT_THAT(propose({5, 0, 1, 2, 3, 4, 9, 0, 1, 2}, 1), ElementsAre(3));
}

TEST_F(Lookup, TheLongestEndCounts) {
  // 6 1 2 came last before 8, but 7 6 1 2 before 3.
  EXPECT_THAT(propose({7, 6, 1, 2, 3, 0, 6, 1, 2, 8, 7, 6, 1, 2}, 2), ElementsAre(3, 0));
}

TEST_F(Lookup, OfEquallyLongEndsTheLatest) {
  EXPECT_THAT(propose({5, 1, 2, 3, 0, 5, 1, 2, 8, 6, 5, 1, 2}, 2), ElementsAre(8, 6));
}

TEST_F(Lookup, ARepetitionGoesOn) {
  EXPECT_THAT(propose({9, 1, 2, 3, 1, 2, 3}, 7), ElementsAre(1, 2, 3, 1, 2, 3, 1));
  EXPECT_THAT(propose({4, 4, 4, 4}, 4), ElementsAre(4, 4, 4, 4));
}

TEST_F(Lookup, NothingCameBefore) {
  EXPECT_THAT(propose({1, 2, 3, 4}, 4), IsEmpty());
  EXPECT_THAT(propose({1, 2, 3, 1, 2}, 4), IsEmpty());  // two tokens say too little
  EXPECT_THAT(propose({1}, 4), IsEmpty());
}

struct Answer {
  std::vector<int32_t> tokens;
  std::string text;
  std::vector<double> log_probabilities;
  FinishReason reason = FinishReason::kError;

  bool operator==(const Answer&) const = default;
};

struct Outcome {
  std::vector<Answer> answers;
  int64_t proposed = 0;
  int64_t accepted = 0;
};

// Answers `requests` together; request `cancelled` is given up after as many tokens as its number
// is asked for.
Outcome answer(LoadedModel& model, const std::vector<Request>& requests,
               const EngineOptions& options, size_t cancelled = SIZE_MAX) {
  Engine engine(model, options);
  Outcome run;
  run.answers.resize(requests.size());
  std::vector<RequestId> ids(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Answer& answer = run.answers[i];
    ids[i] = engine.submit(
        requests[i], {[&, i](const TokenInfo& token) {
                        answer.tokens.push_back(token.token);
                        answer.text += token.text;
                        if (token.log_probabilities != nullptr) {
                          answer.log_probabilities.push_back(token.log_probabilities->chosen);
                        }
                        if (i == cancelled && answer.tokens.size() == 7) engine.cancel(ids[i]);
                      },
                      [&](FinishReason reason, std::string_view text, std::string_view error) {
                        answer.text += text;
                        answer.reason = reason;
                        EXPECT_EQ(error, "");
                      }});
  }
  while (engine.step()) {
  }
  run.proposed = engine.proposed_tokens();
  run.accepted = engine.accepted_tokens();
  for (size_t group = 0; group < engine.cache().groups(); ++group) {
    EXPECT_EQ(engine.cache().available(group), engine.cache().total(group));
  }
  return run;
}

Request request_of(size_t length, uint64_t seed, double temperature) {
  Request request;
  // Words that come again and again.
  for (size_t i = 0; i < length; ++i) {
    request.tokens.push_back(static_cast<int32_t>(97 + (i * i % 11 + seed) % 9));
  }
  request.max_tokens = 70;
  request.ignore_end = true;
  request.sampling.temperature = temperature;
  request.sampling.seed = seed;
  request.log_probabilities = 2;
  return request;
}

// Greedy, sampled, penalized, with stops, of all lengths.
std::vector<Request> requests() {
  std::vector<Request> all = {request_of(40, 1, 0), request_of(3, 2, 0), request_of(90, 3, 0.3),
                              request_of(33, 4, 1.0), request_of(50, 5, 0)};
  all[2].sampling.repetition_penalty = 1.1;
  all[2].sampling.frequency_penalty = 0.2;
  all[3].sampling.top_p = 0.5;
  all[3].ignore_end = false;
  all[4].max_tokens = 5;
  return all;
}

// The character of UTF-8 text that begins at byte `at` or next after it.
std::string character_of(const std::string& text, size_t at) {
  const auto continues = [&](size_t i) { return i < text.size() && (text[i] & 0xc0) == 0x80; };
  while (continues(at)) ++at;
  size_t end = at + 1;
  while (continues(end)) ++end;
  return text.substr(at, end - at);
}

struct Kind {
  std::string name;
  TinyModelSpec spec;
};

class SpeculationTest : public testing::TestWithParam<Kind> {
 protected:
  std::string path_ = model_file(GetParam().name, GetParam().spec);
};

// Draft models: the model itself, and one that has nothing to do with it.
std::string other_file(const Kind& kind) {
  TinyModelSpec spec = kind.spec;
  spec.seed += 100;
  spec.layers = 1;
  return model_file(kind.name + "_other", spec);
}

TEST_P(SpeculationTest, AnswersStayBitForBitWhatTheyAre) {
  const auto model = load(path_);
  const auto same = load(path_);
  const auto other = load(other_file(GetParam()));
  const std::vector<Request> all = requests();
  std::vector<Answer> expected;
  for (const Request& request : all) {
    expected.push_back(answer(*model, {request}, {1024, 1, {}}).answers.front());
  }
  const SpeculationOptions kinds[] = {{Speculation::kLookup, 8, nullptr},
                                      {Speculation::kLookup, 1, nullptr},
                                      {Speculation::kDraft, 6, same.get()},
                                      {Speculation::kDraft, 6, other.get()}};
  for (const SpeculationOptions& speculation : kinds) {
    SCOPED_TRACE(testing::Message()
                 << static_cast<int>(speculation.kind) << ", at most " << speculation.most);
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      const Outcome alone = answer(*model, {all[i]}, {1024, 1, speculation});
      EXPECT_EQ(alone.answers.front(), expected[i]);
    }
    const Outcome together = answer(*model, all, {1024, 16, speculation});
    EXPECT_EQ(together.answers, expected);
    EXPECT_GT(together.proposed, 0);
  }
}

TEST_P(SpeculationTest, AGreedyAnswerIsAllThatItsOwnModelSays) {
  const auto model = load(path_);
  const auto same = load(path_);
  const Outcome run =
      answer(*model, {request_of(40, 1, 0)}, {1024, 1, {Speculation::kDraft, 6, same.get()}});
  EXPECT_EQ(run.accepted, run.proposed);
  EXPECT_GT(run.accepted, 50);  // of 70 tokens
}

TEST_P(SpeculationTest, CancelledAndStoppedAnswersEndWhereTheyDid) {
  const auto model = load(path_);
  const auto same = load(path_);
  std::vector<Request> all = requests();
  const Outcome plain = answer(*model, all, {1024, 16, {}}, 0);
  EXPECT_EQ(plain.answers[0].reason, FinishReason::kCancelled);
  EXPECT_EQ(plain.answers[0].tokens.size(), 7u);
  const EngineOptions options = {1024, 16, {Speculation::kDraft, 8, same.get()}};
  EXPECT_EQ(answer(*model, all, options, 0).answers, plain.answers);
  // A stop string of what the answers say in the middle of a run that would be accepted.
  for (Request& request : all) request.max_tokens = 70;
  const Outcome whole = answer(*model, all, {1024, 16, {}});
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].stop = {character_of(whole.answers[i].text, whole.answers[i].text.size() / 2)};
  }
  const Outcome stopped = answer(*model, all, {1024, 16, {}});
  EXPECT_EQ(stopped.answers[0].reason, FinishReason::kStop);
  EXPECT_EQ(answer(*model, all, options).answers, stopped.answers);
}

// The cache holds exactly what the requests can come to, and the plan samples no row more than
// sequences need: proposals are what has to give way.
TEST_P(SpeculationTest, ProposalsTakeNobodysPlace) {
  const auto same = load(path_);
  const std::vector<Request> all = {request_of(26, 1, 0), request_of(26, 2, 0)};
  const auto narrow = load(path_, 2);
  const Outcome plain = answer(*narrow, all, {192, 2, {}});
  const Outcome run = answer(*narrow, all, {192, 2, {Speculation::kDraft, 8, same.get()}});
  EXPECT_EQ(run.answers, plain.answers);
  EXPECT_EQ(run.proposed, 0);
  const auto wide = load(path_, 4);
  const Outcome some = answer(*wide, all, {192, 2, {Speculation::kDraft, 8, same.get()}});
  EXPECT_EQ(some.answers, plain.answers);
  EXPECT_GT(some.accepted, 0);
}

TinyModelSpec windowed() {
  TinyModelSpec spec;
  spec.window = 20;
  spec.layers = 7;
  return spec;
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationTest,
                         testing::Values(Kind{"llama", {}}, Kind{"gemma", windowed()}),
                         [](const auto& kind) { return kind.param.name; });

TEST(Speculation, AStrangerIsHardlyAsked) {
  const Kind kind = {"stranger", {}};
  const auto model = load(model_file(kind.name, kind.spec));
  const auto other = load(other_file(kind));
  Request request = request_of(40, 1, 1.0);
  request.max_tokens = 400;
  const Outcome run = answer(*model, {request}, {1024, 1, {Speculation::kDraft, 6, other.get()}});
  EXPECT_LT(run.accepted, run.proposed / 4);
  EXPECT_LT(run.proposed, 120);
}

TEST(Speculation, WhatCannotBeIsRefused) {
  const std::string path = model_file("refused", {});
  const auto model = load(path);
  const auto draft = load(ADZE_SOURCE_DIR "/tests/golden/tiny/llama_f32");
  const auto engine = [&](const SpeculationOptions& speculation) {
    return [&model, speculation] { Engine(*model, {1024, 1, speculation}); };
  };
  EXPECT_THAT(engine({Speculation::kLookup, 0, nullptr}),
              ThrowsMessage<Error>(HasSubstr("below 1")));
  EXPECT_THAT(engine({Speculation::kDraft, 4, nullptr}),
              ThrowsMessage<Error>(HasSubstr("no model")));
  EXPECT_THAT(engine({Speculation::kDraft, 4, model.get()}),
              ThrowsMessage<Error>(HasSubstr("the model itself")));
  EXPECT_THAT(engine({Speculation::kDraft, 4, draft.get()}),
              ThrowsMessage<Error>(HasSubstr("has a vocabulary of")));
}

}  // namespace
}  // namespace adze::engine
