#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "golden.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/detokenizer.h"

namespace adze::text {
namespace {

// The pieces are those of Python's incremental decoder with errors="replace", byte by byte.
TEST(StreamingDetokenizer, EqualsPythonsIncrementalDecoder) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  const auto& cases = small_golden()["stream"];
  ASSERT_GE(cases.size(), 150u);
  for (const auto& one : cases) {
    const auto hex = one["bytes"].get<std::string>();
    StreamingDetokenizer detokenizer(*tokenizer);
    std::vector<std::string> pieces;
    for (size_t i = 0; i < hex.size(); i += 2) {
      const auto byte = static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16));
      pieces.push_back(detokenizer.push(*tokenizer->vocabulary().find(byte_level_spelling(byte))));
    }
    pieces.push_back(detokenizer.flush());
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    EXPECT_EQ(text, one["text"].get<std::string>()) << hex;
    // Absent where Python decides later than it could.
    if (one.contains("pieces")) {
      EXPECT_EQ(pieces, one["pieces"].get<std::vector<std::string>>()) << hex;
    }
  }
}

TEST(StreamingDetokenizer, ReturnsTheTextWhateverTheTokens) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  for (const auto& entry : small_golden()["texts"]) {
    const auto text = entry.get<std::string>();
    StreamingDetokenizer detokenizer(*tokenizer);
    std::string streamed;
    for (const TokenId id : tokenizer->encode(text)) streamed += detokenizer.push(id);
    EXPECT_EQ(streamed, text);
    EXPECT_EQ(detokenizer.flush(), "");
  }
}

TEST(StreamingDetokenizer, SkipsControlTokensOnly) {
  const auto tokenizer = make_tokenizer(small_vocabulary("smollm"));
  StreamingDetokenizer skipping(*tokenizer, true);
  EXPECT_EQ(skipping.push(1), "");
  EXPECT_EQ(skipping.push(3), "<tool");
  StreamingDetokenizer showing(*tokenizer);
  EXPECT_EQ(showing.push(1), "<|im_start|>");
  EXPECT_THROW(showing.push(1500), Error);
}

}  // namespace
}  // namespace adze::text
