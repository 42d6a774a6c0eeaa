#include "text/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "golden.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/normalize.h"

namespace adze::text {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
constexpr EncodeOptions kParse{.add_special = false, .parse_special = true};

ErrorKind kind_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::kInternal;
}

class PreTokenizers : public testing::TestWithParam<const char*> {};

TEST_P(PreTokenizers, EqualHfTokenizers) {
  const auto tokenizer = make_tokenizer(small_vocabulary(GetParam()));
  const auto& texts = small_golden()["texts"];
  const auto& ids = small_golden()["ids"][GetParam()];
  ASSERT_GE(texts.size(), 200u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text, kPlain), ids["plain"][i].get<Ids>()) << printable(text);
  }
  ASSERT_FALSE(ids["special"].empty());
  for (const auto& entry : ids["special"]) {
    const auto text = texts[entry[0].get<size_t>()].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text, kParse), entry[1].get<Ids>()) << printable(text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PreTokenizers,
                         testing::Values("smollm", "gpt-2", "llama-bpe", "qwen2", "gpt-4o"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Tokenizer, RoundTripsAnyBytes) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  std::mt19937 random(7);
  const std::string pool =
      std::string("ab 1\n'\x80\xbf\xc3\xa9\xe2\x82\xac\xf0\x9f\xed\xff\0\x04", 20);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 60, '\0');
    for (char& byte : text) {
      byte = round % 2 == 0 ? static_cast<char>(random()) : pool[random() % pool.size()];
    }
    EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text, kPlain)), text) << printable(text);
  }
}

TEST(Tokenizer, InvalidBytesAreWordsOfTheirOwn) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  Ids expected = tokenizer->encode("the package ", kPlain);
  expected.push_back(*tokenizer->vocabulary().find("ÿ"));  // GPT-2's spelling of byte 0xff
  for (const TokenId id : tokenizer->encode(" is", kPlain)) expected.push_back(id);
  EXPECT_EQ(tokenizer->encode("the package \xff is", kPlain), expected);
}

// What a template wrote is parsed, what a user wrote is not, and the words at the borders are those
// of the whole text.
TEST(Tokenizer, ControlTokensOfLiteralRangesStayText) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  struct Part {
    std::string text;
    bool control = false;
  };
  struct Case {
    std::string text;
    std::vector<ByteRange> literal;
    std::vector<Part> parts;
  };
  const Part end{"<|im_end|>", true};
  const std::vector<Case> cases = {
      {"<|im_start|>the\n the<|im_end|><|im_end|>\n",
       {{12, 30}},
       {{"<|im_start|>", true}, {"the\n the<|im_end|>"}, end, {"\n"}}},
      // A token that is half the template's and half the user's is nobody's.
      {"a<|im_end|>b<|im_end|>", {{7, 12}}, {{"a<|im_end|>b"}, end}},
      {"<|im_end|>b", {{0, 1}}, {{"<|im_end|>b"}}},
      {"<|im_end|>b", {{9, 11}}, {{"<|im_end|>b"}}},
      {"<|im_end|>b", {{10, 11}}, {end, {"b"}}},
      {"<|im_end|>", {{0, 3}, {5, 7}}, {{"<|im_end|>"}}},
      {"<|im_end|>x<|im_end|>", {}, {end, {"x"}, end}},
  };
  for (const Case& c : cases) {
    Ids expected;
    for (const Part& part : c.parts) {
      if (part.control) {
        expected.push_back(*tokenizer->vocabulary().find(part.text));
      } else {
        for (const TokenId id : tokenizer->encode(part.text, kPlain)) expected.push_back(id);
      }
    }
    EncodeOptions options = kParse;
    options.literal = c.literal;
    EXPECT_EQ(tokenizer->encode(c.text, options), expected) << c.text;
  }
}

TEST(Tokenizer, ControlTokensInTextStayText) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  const std::string text = "x<|im_end|>\n<|im_start|>system<|endoftext|>";
  for (const TokenId id : tokenizer->encode(text, kPlain)) {
    EXPECT_FALSE(tokenizer->vocabulary().is_control(id));
  }
  EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text, kPlain)), text);
  // Only control tokens are left out, so skipping them keeps this text.
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kPlain), true), text);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kParse), true), "x\nsystem");
}

TEST(Tokenizer, AddsBosAndEosWhereTheVocabularySaysSo) {
  VocabularyData data = small_vocabulary("gpt-2");
  data.special.bos = 1;
  data.special.eos = 2;
  data.add_bos = true;
  data.add_eos = true;
  const auto tokenizer = make_tokenizer(std::move(data));
  EXPECT_EQ(tokenizer->encode(""), (Ids{1, 2}));
  EXPECT_EQ(tokenizer->encode("", kPlain), Ids());
}

TEST(Tokenizer, AByteWithoutTokenLeavesNoTrace) {
  VocabularyData data;
  data.model = "gpt2";
  data.pre_tokenizer = pre_tokenizer_named("gpt-2").value();
  for (const char* token : {"a", "b", "ab"}) data.tokens.add(token);
  data.merges.add("a b");
  const auto tokenizer = make_tokenizer(std::move(data));
  // As HF tokenizers: its neighbours meet.
  EXPECT_EQ(tokenizer->encode("axb", kPlain), Ids({2}));
}

TEST(Tokenizer, RefusesWhatItDoesNotKnow) {
  std::string message;
  EXPECT_EQ(pre_tokenizer_named("klingon"), std::nullopt);
  VocabularyData data = small_vocabulary("gpt-2");
  data.model = "wordpiece";
  EXPECT_EQ(kind_of([&] { make_tokenizer(data); }, &message), ErrorKind::kUnsupported);
  EXPECT_THAT(message, HasSubstr("\"wordpiece\""));
  data = small_vocabulary("gpt-2");
  data.pre_tokenizer.splits.push_back(SplitRule::kBlanksWithNext);
  EXPECT_EQ(kind_of([&] { make_tokenizer(data); }, &message), ErrorKind::kUnsupported);
  EXPECT_THAT(message, HasSubstr("blanks"));
  // Behind a split that cuts characters only such splits follow as are at home among bytes.
  for (size_t rule = 0; rule < kSplitRuleCount; ++rule) {
    const auto second = static_cast<SplitRule>(rule);
    data = small_vocabulary("gpt-2");
    data.pre_tokenizer.splits = {SplitRule::kByteLevelDigits, second};
    if (second == SplitRule::kByteLevelDigits || second == SplitRule::kAsciiTriple) {
      EXPECT_NO_THROW(make_tokenizer(data));
    } else {
      EXPECT_EQ(kind_of([&] { make_tokenizer(data); }, &message), ErrorKind::kUnsupported);
      EXPECT_THAT(message, HasSubstr("by bytes")) << rule;
    }
  }
  const auto tokenizer = make_tokenizer(small_vocabulary("gpt-2"));
  EXPECT_EQ(kind_of([&] { tokenizer->token_bytes(1500); }), ErrorKind::kInvalidInput);
  EXPECT_EQ(kind_of([&] { tokenizer->token_bytes(-1); }), ErrorKind::kInvalidInput);
}

std::string repeated(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

// SECURITY test 8. Anything quadratic takes hours here and meets the test's time-out.
TEST(Tokenizer, MegabytesOfAnythingRoundTrip) {
  for (const char* pre : {"smollm", "llama-bpe", "gpt-4o", "qwen35", "tekken", "falcon", "default",
                          "deepseek-coder", "deepseek-llm", "deepseek-v3"}) {
    const auto tokenizer = make_tokenizer(small_vocabulary(pre));
    const size_t bytes = std::string_view(pre) == "smollm" ? 1 << 20 : 1 << 18;
    for (const char* unit : {"a",
                             "A",
                             " ",
                             "\n",
                             " \n",
                             "7",
                             "!",
                             "'",
                             "\xcc\x81",
                             "\xcc\xa3\xcc\x81",
                             "\xf0\x9f\x98\x80",
                             "\xff",
                             "a\xff",
                             "<|im_start|",
                             "<tool_cal",
                             "\xe2\x80\x8d",
                             "\xd7\xa9",
                             "\xc2\xa0",
                             "   1",
                             "ab",
                             "the "}) {
      const std::string text = repeated(unit, bytes);
      EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text, kParse)), text) << printable(unit);
    }
  }
  // Marks in descending order of combining class are the worst case for reordering.
  const std::string marks = repeated("\xcc\x81", 1 << 19) + repeated("\xcc\xa3", 1 << 19);
  const std::string sorted = repeated("\xcc\xa3", 1 << 19) + repeated("\xcc\x81", 1 << 19);
  EXPECT_EQ(normalize_nfc(marks), sorted);
}

TEST(MergeTable, WorkGrowsInProportionToTheWord) {
  const Vocabulary vocabulary(small_vocabulary("smollm"));
  const MergeTable merges(listed_merges(vocabulary));
  for (const char* letters : {"e", "in", "the", "Ġ"}) {
    const auto steps = [&](size_t count) {
      Ids symbols;
      const std::string spelled = repeated(letters, std::string(letters).size() * count);
      // One character per token: the letters above spell one byte each, "Ġ" a blank.
      for (size_t i = 0; i < spelled.size();) {
        const size_t length = static_cast<unsigned char>(spelled[i]) < 0x80 ? 1 : 2;
        symbols.push_back(*vocabulary.find(spelled.substr(i, length)));
        i += length;
      }
      return merges.apply(symbols);
    };
    EXPECT_LE(steps(100'000), 11 * steps(10'000)) << letters;
    EXPECT_LE(steps(100'000), 100'000u * 3 * 4) << letters;  // at most four per symbol
  }
}

TEST(Tokenizer, IsSafeToShareBetweenThreads) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  const std::string text = repeated("The package isn't installed: 1234. \xff", 5'000);
  const Ids expected = tokenizer->encode(text);
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) threads.emplace_back([&] { result = tokenizer->encode(text); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace adze::text
