#include "checkpoint/gguf_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace adze::checkpoint {
namespace {

using testing::HasSubstr;

// Metadata as GGUF version 3 lays it out; types: 4 uint32, 5 int32, 7 bool, 8 string, 9 array.
class Metadata {
 public:
  void integer(std::string_view key, uint32_t value) {
    begin(key, 4);
    number(value);
  }
  void boolean(std::string_view key, bool value) {
    begin(key, 7);
    number(static_cast<uint8_t>(value));
  }
  void text(std::string_view key, std::string_view value) {
    begin(key, 8);
    string(value);
  }
  void texts(std::string_view key, const std::vector<std::string>& values) {
    begin(key, 9);
    number(uint32_t{8});
    number(static_cast<uint64_t>(values.size()));
    for (const std::string& value : values) string(value);
  }
  void integers(std::string_view key, const std::vector<int32_t>& values) {
    begin(key, 9);
    number(uint32_t{5});
    number(static_cast<uint64_t>(values.size()));
    for (const int32_t value : values) number(value);
  }
  gguf::File file() const {
    Metadata header;
    header.bytes_ = "GGUF";
    header.number(uint32_t{3});
    header.number(uint64_t{0});
    header.number(keys_);
    const std::string all = header.bytes_ + bytes_;
    return gguf::File::parse(memory_input("made.gguf", std::as_bytes(std::span(all))));
  }

 private:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(std::string_view value) {
    number(static_cast<uint64_t>(value.size()));
    bytes_ += value;
  }
  void begin(std::string_view key, uint32_t type) {
    string(key);
    number(type);
    ++keys_;
  }
  std::string bytes_;
  uint64_t keys_ = 0;
};

const std::vector<std::string> kTokens = {"<s>", "</s>", "a", "b", "ab", "Ġ"};

Metadata small() {
  Metadata metadata;
  metadata.text("tokenizer.ggml.model", "gpt2");
  metadata.text("tokenizer.ggml.pre", "gpt-2");
  metadata.texts("tokenizer.ggml.tokens", kTokens);
  metadata.texts("tokenizer.ggml.merges", {"a b"});
  return metadata;
}

std::string message_of(const Metadata& metadata, ErrorKind kind = ErrorKind::kInvalidInput) {
  try {
    open_tokenizer(metadata.file());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::StartsWith("made.gguf: "));
    return error.what();
  }
  return "no error";
}

TEST(GgufVocabulary, ReadsEveryKey) {
  Metadata metadata = small();
  metadata.integers("tokenizer.ggml.token_type", {3, 3, 1, 1, 4, 1});
  metadata.integer("tokenizer.ggml.bos_token_id", 0);
  metadata.integer("tokenizer.ggml.eos_token_id", 1);
  metadata.boolean("tokenizer.ggml.add_bos_token", true);
  const text::VocabularyData data = read_vocabulary(metadata.file());
  EXPECT_EQ(data.model, "gpt2");
  EXPECT_EQ(data.pre_tokenizer.splits, std::vector{text::SplitRule::kGpt2});
  ASSERT_EQ(data.tokens.size(), kTokens.size());
  for (size_t i = 0; i < kTokens.size(); ++i) EXPECT_EQ(data.tokens[i], kTokens[i]);
  EXPECT_EQ(data.types[1], text::TokenType::kControl);
  EXPECT_EQ(data.types[3], text::TokenType::kNormal);
  EXPECT_EQ(data.types[4], text::TokenType::kUserDefined);
  EXPECT_EQ(data.special.bos, 0);
  EXPECT_EQ(data.special.eos, 1);
  EXPECT_EQ(data.special.eot, std::nullopt);
  EXPECT_TRUE(data.add_bos);
  EXPECT_FALSE(data.add_eos);
  EXPECT_EQ(open_tokenizer(metadata.file())->encode("ab a"), (std::vector<int32_t>{0, 4, 5, 2}));
}

TEST(GgufVocabulary, NamesFileAndKeyOfWhatIsWrong) {
  EXPECT_EQ(message_of(small()), "no error");
  EXPECT_THAT(message_of(Metadata()), HasSubstr("tokenizer.ggml.model"));

  Metadata bad;
  bad.text("tokenizer.ggml.model", "gpt2");
  bad.text("tokenizer.ggml.pre", "gpt-2");
  EXPECT_THAT(message_of(bad), HasSubstr("tokenizer.ggml.tokens"));
  bad.texts("tokenizer.ggml.tokens", {});
  EXPECT_THAT(message_of(bad), HasSubstr("tokenizer.ggml.merges"));
  bad.texts("tokenizer.ggml.merges", {});
  EXPECT_THAT(message_of(bad), HasSubstr("no tokens"));

  bad = small();
  bad.integers("tokenizer.ggml.token_type", {1, 1, 1, 1, 1, 7});
  EXPECT_THAT(message_of(bad), HasSubstr("tokenizer.ggml.token_type: unknown type 7"));
  bad = small();
  bad.integers("tokenizer.ggml.token_type", {1, 1});
  EXPECT_THAT(message_of(bad), HasSubstr("2 token types for 6 tokens"));
  bad = small();
  bad.integer("tokenizer.ggml.eos_token_id", 6);
  EXPECT_THAT(message_of(bad), HasSubstr("eos token id 6 is out of range"));
  for (const uint32_t id : {0x80000000u, 0xffffffffu}) {
    bad = small();
    bad.integer("tokenizer.ggml.eot_token_id", id);
    EXPECT_THAT(message_of(bad), HasSubstr("tokenizer.ggml.eot_token_id"));
  }
  bad = small();
  bad.text("tokenizer.ggml.bos_token_id", "0");
  EXPECT_THAT(message_of(bad), HasSubstr("tokenizer.ggml.bos_token_id"));
}

TEST(GgufVocabulary, AnUnknownPreTokenizerIsUnsupported) {
  const auto with_pre = [](const char* name) {
    Metadata metadata;
    metadata.text("tokenizer.ggml.model", "gpt2");
    if (name != nullptr) metadata.text("tokenizer.ggml.pre", name);
    metadata.texts("tokenizer.ggml.tokens", kTokens);
    metadata.texts("tokenizer.ggml.merges", {});
    return message_of(metadata, ErrorKind::kUnsupported);
  };
  EXPECT_THAT(with_pre(nullptr), HasSubstr("tokenizer.ggml.pre is missing"));
  EXPECT_THAT(with_pre("klingon"), HasSubstr("pre-tokenizer \"klingon\""));
}

}  // namespace
}  // namespace adze::checkpoint
