#include "checkpoint/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::checkpoint {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
using Change = std::function<void(Json&)>;

// "ab" of GPT-2's kind, as tokenizers writes it.
Json byte_level() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 3, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 4, "content": "<tool>", "single_word": false, "lstrip": false, "rstrip": true,
       "normalized": false, "special": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                      "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
      "ignore_merges": false, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
  })");
}

Json sentencepiece_like() {
  Json json = byte_level();
  json["normalizer"] = Json::parse(
      R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
          {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})");
  json["pre_tokenizer"] = nullptr;
  json["decoder"] = Json::parse(
      R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"},
          "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
          {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  return json;
}

text::VocabularyData read(const Json& json) {
  return read_tokenizer_json(json.dump(), "made/tokenizer.json");
}

std::string refusal(const std::string& json, ErrorKind kind) {
  try {
    text::make_tokenizer(read_tokenizer_json(json, "made/tokenizer.json"));
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), kind) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "no error";
}

TEST(TokenizerJson, ReadsEveryPart) {
  const text::VocabularyData data = read(byte_level());
  EXPECT_EQ(data.model, "gpt2");
  EXPECT_EQ(data.pre_tokenizer.splits, std::vector{text::SplitRule::kGpt2});
  ASSERT_EQ(data.tokens.size(), 5u);
  EXPECT_EQ(data.tokens[2], "ab");
  EXPECT_EQ(data.types[3], text::TokenType::kControl);
  EXPECT_EQ(data.types[4], text::TokenType::kUserDefined);
  EXPECT_FALSE(data.added_rules.contains(3));
  EXPECT_TRUE(data.added_rules.at(4).right_strip);
  EXPECT_TRUE(data.add_bos);
  EXPECT_FALSE(data.add_eos);
  EXPECT_EQ(data.special.bos, 3);
  EXPECT_EQ(data.special.eos, std::nullopt);
  EXPECT_EQ(text::make_tokenizer(data)->encode("ab<tool> a<s>b"),
            (std::vector<text::TokenId>{3, 2, 4, 0, 1}));
}

TEST(TokenizerJson, TakesMergesAsTextsAndAsPairs) {
  Json json = byte_level();
  json["model"]["merges"] = Json::parse(R"([["a", "b"]])");
  EXPECT_EQ(read(json).merges[0], "a b");
  json["model"]["merges"] = Json::parse(R"([["a a", "b"]])");
  EXPECT_THAT(refusal(json.dump(), ErrorKind::kUnsupported), HasSubstr("model.merges[0]"));
  for (const char* bad : {"[1]", "[[\"a\"]]", "[[\"a\", 1]]", "{}"}) {
    json["model"]["merges"] = Json::parse(bad);
    EXPECT_THAT(refusal(json.dump(), ErrorKind::kInvalidInput), HasSubstr("model.merges")) << bad;
  }
}

TEST(TokenizerJson, HolesBetweenIdsAreUnused) {
  Json json = byte_level();
  json["added_tokens"][1]["id"] = 7;
  const text::VocabularyData data = read(json);
  ASSERT_EQ(data.tokens.size(), 8u);
  EXPECT_EQ(data.types[5], text::TokenType::kUnused);
  EXPECT_EQ(data.tokens[7], "<tool>");
}

struct Bad {
  const char* pointer;  // where the value is put
  const char* value;
  ErrorKind kind;
  const char* message;
};

TEST(TokenizerJson, NamesWhatItRefuses) {
  constexpr auto kInvalid = ErrorKind::kInvalidInput;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  const Bad cases[] = {
      {"/normalizer", R"({"type": "Lowercase"})", kUnsupported, "normalizer \"Lowercase\""},
      {"/normalizer", R"({"type": 1})", kInvalid, "normalizer.type is not a text"},
      {"/normalizer", R"([])", kInvalid, "normalizer is not an object"},
      {"/normalizer", R"({"type": "Sequence"})", kInvalid, "normalizer.normalizers is not a list"},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}]})", kUnsupported,
       "normalizer.normalizers[0]: normalizer \"NFKC\""},
      {"/pre_tokenizer", R"({"type": "Whitespace"})", kUnsupported, "pre-tokenizer \"Whitespace\""},
      {"/pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "ByteLevel"}]})",
       kUnsupported, "pretokenizers[1]: a second \"ByteLevel\""},
      {"/pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Metaspace", "replacement": "\u2581"}]})",
       kUnsupported, "\"Metaspace\" behind \"ByteLevel\""},
      {"/pre_tokenizer", "null", kUnsupported, "neither byte-level nor SentencePiece"},
      {"/pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": false})",
       kUnsupported, "(a+)+b"},
      {"/pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "\\p{N}"}, "behavior": "Removed", "invert": false})",
       kUnsupported, "\"Removed\""},
      {"/post_processor", R"({"type": "RobertaProcessing"})", kUnsupported,
       "\"RobertaProcessing\""},
      {"/post_processor/special_tokens", R"({})", kInvalid, "special_tokens has no \"<s>\""},
      {"/post_processor/special_tokens/<s>/ids", "[99]", kInvalid, "99 is no token's id"},
      {"/post_processor/special_tokens/<s>/ids", "[3, 3]", kUnsupported, "one id"},
      {"/post_processor/single", "[]", kUnsupported, "without the text"},
      {"/decoder", R"({"type": "WordPiece"})", kUnsupported, "decoder \"WordPiece\""},
      {"/model/type", R"("Unigram")", kUnsupported, "\"Unigram\""},
      {"/model/dropout", "0.1", kUnsupported, "model.dropout"},
      {"/model/end_of_word_suffix", R"("</w>")", kUnsupported, "model.end_of_word_suffix"},
      {"/model/unk_token", R"("<unk>")", kInvalid, "\"<unk>\" is not a token"},
      {"/model/unk_token", R"("<s>")", kUnsupported, "model.unk_token"},
      {"/model/byte_fallback", "true", kUnsupported, "model.byte_fallback"},
      {"/model/byte_fallback", "1", kInvalid, "model.byte_fallback is neither true nor false"},
      {"/model/vocab", "[]", kInvalid, "model.vocab is not an object"},
      {"/model/vocab/a", "1", kInvalid, "have the same id"},
      {"/model/vocab/a", "-1", kInvalid, "the id of \"a\""},
      {"/model/vocab/a", "2147483648", kInvalid, "the id of \"a\""},
      {"/model/vocab/a", "18446744073709551615", kInvalid, "the id of \"a\""},
      {"/model/vocab/a", "1e3", kInvalid, "the id of \"a\""},
      {"/added_tokens/0/id", "2", kInvalid, "added_tokens[0]: its id is that of \"ab\""},
      {"/added_tokens/0/id", "\"2\"", kInvalid, "added_tokens[0].id"},
      {"/added_tokens/0/id", "1000000000", kInvalid, "added_tokens[0].id"},
      {"/added_tokens/0/content", "null", kInvalid, "added_tokens[0].content"},
      {"/added_tokens/0/lstrip", "\"no\"", kInvalid, "added_tokens[0].lstrip"},
  };
  for (const Bad& bad : cases) {
    Json json = byte_level();
    json[Json::json_pointer(bad.pointer)] = Json::parse(bad.value);
    const std::string message = refusal(json.dump(), bad.kind);
    EXPECT_THAT(message, HasSubstr(bad.message));
    EXPECT_THAT(message, testing::StartsWith("made/tokenizer.json: ")) << bad.message;
  }
}

TEST(TokenizerJson, SentencePieceLikePartsAreRefusedByName) {
  EXPECT_EQ(refusal(sentencepiece_like().dump(), ErrorKind::kInternal), "no error");
  Json json = sentencepiece_like();
  json["added_tokens"][0]["normalized"] = true;
  EXPECT_THAT(refusal(json.dump(), ErrorKind::kUnsupported),
              HasSubstr("added_tokens[0]: \"normalized\""));
  json = sentencepiece_like();
  json["decoder"]["decoders"][3]["start"] = 2;
  EXPECT_THAT(refusal(json.dump(), ErrorKind::kUnsupported), HasSubstr("decoder \"Strip\""));
  json = sentencepiece_like();
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(refusal(json.dump(), ErrorKind::kUnsupported), HasSubstr("ignored merges"));
}

TEST(TokenizerJson, SurvivesWhatIsNotJson) {
  const std::string good = byte_level().dump();
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(refusal(good.substr(0, length), ErrorKind::kInvalidInput), HasSubstr("not JSON"));
  }
  const std::string deep = std::string(100'000, '[');
  EXPECT_THAT(refusal(deep, ErrorKind::kInvalidInput), HasSubstr("nested deeper than"));
  EXPECT_THAT(refusal("[]", ErrorKind::kInvalidInput), HasSubstr("is not an object"));
  EXPECT_THAT(refusal("{}", ErrorKind::kUnsupported), HasSubstr("neither byte-level"));
  EXPECT_THAT(refusal("{\"normalizer\": \"\xff\"}", ErrorKind::kInvalidInput),
              HasSubstr("not JSON"));
}

// Every value of the file replaced by one of another type: an answer or a clear refusal.
TEST(TokenizerJson, SurvivesAnyTypeAnywhere) {
  const Json good = sentencepiece_like();
  const Json flat = good.flatten();
  size_t refused = 0;
  for (const auto& [pointer, value] : flat.items()) {
    for (const char* other : {"null", "-1", "1e308", "\"\"", "[]", "{}", "true", "[[[]]]"}) {
      Json json = good;
      json[Json::json_pointer(pointer)] = Json::parse(other);
      try {
        text::make_tokenizer(read(json))->encode("ab <tool>");
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::kInternal) << pointer << ' ' << other << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace adze::checkpoint
