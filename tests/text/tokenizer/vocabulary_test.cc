#include "text/tokenizer/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "golden.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::text {
namespace {

using testing::HasSubstr;

std::string message_of(VocabularyData data) {
  try {
    make_tokenizer(std::move(data));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "no error";
}

TEST(Vocabulary, FindsTheLowestIdOfEachText) {
  VocabularyData data = small_vocabulary("smollm");
  const std::string first(data.tokens[7]);
  data.tokens.add(first);
  data.types.push_back(TokenType::kNormal);
  const Vocabulary vocabulary(std::move(data));
  ASSERT_EQ(vocabulary.size(), 1501);
  for (TokenId id = 0; id < 1500; ++id) EXPECT_EQ(vocabulary.find(vocabulary.text(id)), id);
  EXPECT_EQ(vocabulary.find("no such token"), std::nullopt);
  EXPECT_EQ(vocabulary.find(""), std::nullopt);
}

// Words of four letters after SentencePiece's blank, all in one slot if its three bytes chose it:
// that takes five hundred billion comparisons and meets the test's time-out.
TEST(Vocabulary, FindsTokensThatBeginAlike) {
  constexpr TokenId kCount = 1 << 20;
  const auto word = [](TokenId id) {
    std::string text = "\u2581";
    for (int shift = 15; shift >= 0; shift -= 5)
      text += static_cast<char>('A' + (id >> shift & 31));
    return text;
  };
  VocabularyData data;
  for (TokenId id = 0; id < kCount; ++id) {
    data.tokens.add(word(id));
    data.types.push_back(TokenType::kNormal);
  }
  const Vocabulary vocabulary(std::move(data));
  for (TokenId id = 0; id < kCount; ++id) ASSERT_EQ(vocabulary.find(word(id)), id);
  EXPECT_EQ(vocabulary.find("\u2581AAA"), std::nullopt);
}

TEST(Vocabulary, RefusesContradictions) {
  VocabularyData empty;
  empty.model = "gpt2";
  EXPECT_THAT(message_of(empty), HasSubstr("no tokens"));

  const VocabularyData good = small_vocabulary("smollm");
  EXPECT_EQ(message_of(good), "no error");

  VocabularyData bad = good;
  bad.special.eos = 1500;
  EXPECT_THAT(message_of(bad), HasSubstr("eos token id 1500 is out of range"));
  bad = good;
  bad.special.bos = -1;
  EXPECT_THAT(message_of(bad), HasSubstr("bos token id -1 is out of range"));
  bad = good;
  bad.add_bos = true;
  EXPECT_THAT(message_of(bad), HasSubstr("bos"));
  bad = good;
  bad.types.pop_back();
  EXPECT_THAT(message_of(bad), HasSubstr("1499 token types"));
  bad = good;
  bad.scores.resize(3);
  EXPECT_THAT(message_of(bad), HasSubstr("3 scores"));
}

TEST(Vocabulary, RefusesGiantTokens) {
  VocabularyData data = small_vocabulary("smollm");
  data.types.resize(1501, TokenType::kNormal);
  VocabularyData giant = data;
  data.tokens.add(std::string(kMaxTokenBytes, 'x'));
  EXPECT_EQ(message_of(data), "no error");
  giant.tokens.add(std::string(kMaxTokenBytes + 1, 'x'));
  EXPECT_THAT(message_of(giant), HasSubstr("token 1500 has 65537 bytes"));
}

TEST(Vocabulary, RefusesMergesOfWhatIsNoToken) {
  const auto with_merge = [](std::string_view merge) {
    VocabularyData data = small_vocabulary("smollm");
    data.merges.add(merge);
    return message_of(data);
  };
  EXPECT_THAT(with_merge("nosuch e"), HasSubstr("is not a token"));
  EXPECT_THAT(with_merge("e nosuch"), HasSubstr("is not a token"));
  EXPECT_THAT(with_merge("Q Q"), HasSubstr("\"QQ\" is not a token"));
  // A merge with an empty part would yield itself for ever.
  for (const char* merge : {"", " ", "e", "e ", " e"}) {
    EXPECT_THAT(with_merge(merge), HasSubstr("is not two parts"));
  }
}

TEST(Vocabulary, TokensNeedNotBeUtf8) {
  VocabularyData data = small_vocabulary("smollm");
  data.tokens.add("\xff\xfe");
  data.types.push_back(TokenType::kNormal);
  const auto tokenizer = make_tokenizer(std::move(data));
  EXPECT_EQ(tokenizer->token_bytes(1500), "\xff\xfe");
  const TokenId id = 1500;
  EXPECT_EQ(tokenizer->decode({&id, 1}), "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace adze::text
