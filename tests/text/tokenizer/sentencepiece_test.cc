#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::text {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
constexpr EncodeOptions kParse{.add_special = false, .parse_special = true};

struct Piece {
  const char* text;
  float score;
};

// <unk>, <s>, </s> and, where asked for, the 256 bytes; then the pieces.
VocabularyData vocabulary_of(const std::vector<Piece>& pieces, bool bytes = true) {
  VocabularyData data;
  data.model = "llama";
  const auto add = [&](std::string_view text, TokenType type, float score) {
    data.tokens.add(text);
    data.types.push_back(type);
    data.scores.push_back(score);
  };
  add("<unk>", TokenType::kUnknown, 0);
  add("<s>", TokenType::kControl, 0);
  add("</s>", TokenType::kControl, 0);
  for (int byte = 0; bytes && byte < 256; ++byte) {
    add(fmt::format("<0x{:02X}>", byte), TokenType::kByte, 0);
  }
  for (const Piece& piece : pieces) add(piece.text, TokenType::kNormal, piece.score);
  data.special.unknown = 0;
  data.special.bos = 1;
  data.special.eos = 2;
  return data;
}

const std::vector<Piece> kPieces = {
    {"aa", -1},  {"aaaa", -2}, {"ab", -3},  {"▁a", -4},  {"▁▁", -5},  {"xy", -6},  {"yz", -6},
    {"</", -7},  {"s>", -7},   {"é", -100}, {"▁", -100}, {"a", -100}, {"b", -100}, {"x", -100},
    {"y", -100}, {"z", -100},  {"<", -100}, {"/", -100}, {"s", -100}, {">", -100}, {"qw", -8},
};

std::vector<std::string> texts_of(const Tokenizer& tokenizer, const Ids& ids) {
  std::vector<std::string> texts;
  for (const TokenId id : ids) texts.emplace_back(tokenizer.vocabulary().text(id));
  return texts;
}

std::vector<std::string> split(const VocabularyData& data, std::string_view text) {
  const auto tokenizer = make_tokenizer(data);
  return texts_of(*tokenizer, tokenizer->encode(text, kPlain));
}

using Texts = std::vector<std::string>;

TEST(SentencePiece, TheBestScoreMergesFirstAndTheLeftmostOfEqualOnes) {
  const VocabularyData data = vocabulary_of(kPieces);
  EXPECT_EQ(split(data, "aaab"), (Texts{"aa", "ab"}));
  EXPECT_EQ(split(data, "aaaaa"), (Texts{"aaaa", "a"}));
  EXPECT_EQ(split(data, " aa  a"), (Texts{"▁", "aa", "▁", "▁a"}));
  EXPECT_EQ(split(data, "xyz"), (Texts{"xy", "z"}));
  EXPECT_EQ(split(data, "xyyz"), (Texts{"xy", "yz"}));
  // A piece of characters that have no token of their own.
  EXPECT_EQ(split(data, "qw"), (Texts{"qw"}));
  EXPECT_EQ(split(data, "q"), (Texts{"<0x71>"}));
}

TEST(SentencePiece, ListedMergesComeInTheirOrder) {
  VocabularyData data = vocabulary_of(kPieces);
  data.merges.add("y z");
  data.merges.add("x y");
  EXPECT_EQ(split(data, "xyz"), (Texts{"x", "yz"}));
  EXPECT_EQ(split(data, "aa"), (Texts{"a", "a"}));
}

TEST(SentencePiece, BytesStandForWhatHasNoToken) {
  const VocabularyData data = vocabulary_of(kPieces);
  EXPECT_EQ(split(data, "aü\xffé"), (Texts{"a", "<0xC3>", "<0xBC>", "<0xFF>", "é"}));
  const auto tokenizer = make_tokenizer(data);
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 80, '\0');
    for (char& byte : text) byte = static_cast<char>(round % 2 == 0 ? random() : random() % 4 + 95);
    EXPECT_EQ(tokenizer->decode_bytes(tokenizer->encode(text, kPlain)), text);
  }
}

TEST(SentencePiece, RunsOfTheUnknownAreOneToken) {
  VocabularyData data = vocabulary_of(kPieces, false);
  EXPECT_EQ(split(data, "aüöa\xff\xff"), (Texts{"a", "<unk>", "a", "<unk>"}));
  data.fuse_unknown = false;
  EXPECT_EQ(split(data, "aüöa"), (Texts{"a", "<unk>", "<unk>", "a"}));
  data.special.unknown = std::nullopt;
  EXPECT_EQ(split(data, "aüöa"), (Texts{"a", "a"}));
}

TEST(SentencePiece, PutsABlankBefore) {
  VocabularyData data = vocabulary_of(kPieces);
  data.space_prefix = SpacePrefix::kEvery;
  EXPECT_EQ(split(data, "a"), (Texts{"▁a"}));
  EXPECT_EQ(split(data, " a"), (Texts{"▁", "▁a"}));
  EXPECT_EQ(split(data, ""), Texts());
  const auto tokenizer = make_tokenizer(data);
  const auto parsed = [](const Tokenizer& of) { return texts_of(of, of.encode("a<s>a", kParse)); };
  EXPECT_EQ(parsed(*tokenizer), (Texts{"▁a", "<s>", "▁a"}));
  for (const char* text : {"a", " a", "  ", "b"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kPlain)), text);
  }
  data.space_prefix = SpacePrefix::kFirst;
  EXPECT_EQ(parsed(*make_tokenizer(data)), (Texts{"▁a", "<s>", "a"}));
  data.space_prefix_once = true;
  EXPECT_EQ(split(data, " a"), (Texts{"▁a"}));
  EXPECT_EQ(split(data, "▁a"), (Texts{"▁a"}));
}

// Merges could make "</s>" of "</" and "s>", for its score is the best of all.
TEST(SentencePiece, ControlTokensInTextStayText) {
  const VocabularyData data = vocabulary_of(kPieces);
  EXPECT_EQ(split(data, "a</s>"), (Texts{"a", "</", "s>"}));
  const auto tokenizer = make_tokenizer(data);
  EXPECT_EQ(texts_of(*tokenizer, tokenizer->encode("a</s>", kParse)), (Texts{"a", "</s>"}));
  EncodeOptions options = kParse;
  const ByteRange written{0, 5};
  options.literal = {&written, 1};
  EXPECT_EQ(texts_of(*tokenizer, tokenizer->encode("a</s></s>", options)),
            (Texts{"a", "</", "s>", "</s>"}));
  EXPECT_EQ(split(data, "<0x41>").front(), "<");
}

std::string message_of(const VocabularyData& data) {
  try {
    make_tokenizer(data);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SentencePiece, RefusesContradictions) {
  VocabularyData data = vocabulary_of(kPieces);
  data.scores[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message_of(data), HasSubstr("the score of token 5 is NaN"));
  data = vocabulary_of(kPieces);
  data.types[260] = TokenType::kByte;
  EXPECT_THAT(message_of(data), HasSubstr("byte token 260 is spelled"));
  data = vocabulary_of(kPieces);
  data.tokens.add(std::string(2000, 'a'));
  data.types.push_back(TokenType::kNormal);
  data.scores.push_back(0);
  EXPECT_THAT(message_of(data), HasSubstr("has 2000 bytes, more than 1024"));
  data = vocabulary_of(kPieces);
  data.pre_tokenizer.splits = {SplitRule::kGpt2};
  EXPECT_THAT(message_of(data), HasSubstr("splits other than at blanks"));
}

// SECURITY test 8. Anything quadratic takes hours here and meets the test's time-out.
TEST(SentencePiece, MegabytesOfAnythingRoundTrip) {
  const auto tokenizer = make_tokenizer(vocabulary_of(kPieces));
  for (const std::string_view unit : {"a", "ab", " ", " a", "\n", "\xff", "a\xff", "😀", "\xcc\x81",
                                      "xyz", "q", "</s", "<0x4", "\xe2\x96", "▁"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += unit;
    const std::string back = tokenizer->decode_bytes(tokenizer->encode(text, kParse));
    // U+2581 spells blanks, so that it does not come back.
    if (unit == "▁") {
      EXPECT_EQ(back, std::string(text.size() / 3, ' '));
    } else {
      EXPECT_EQ(back, text) << unit;
    }
  }
}

}  // namespace
}  // namespace adze::text
