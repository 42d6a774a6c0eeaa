#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace adze {
namespace {

using testing::HasSubstr;

std::string message(const std::string& text) {
  try {
    parse_json(text, "made.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_THAT(error.what(), testing::StartsWith("made.json: "));
    return error.what();
  }
  return "no error";
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Json, ParsesWhatIsJson) {
  const JsonDocument document = parse_json(
      R"({"b": {}, "a": [1, -2, 2.5, null, "ä\n", true, {"c": []}], "": [[3]]})", "made.json");
  const nlohmann::json expected = {
      {"a", {1, -2, 2.5, nullptr, "ä\n", true, {{"c", nlohmann::json::array()}}}},
      {"b", nlohmann::json::object()},
      {"", nlohmann::json::array({nlohmann::json::array({3})})}};
  EXPECT_EQ(*document, expected);
  EXPECT_TRUE(document->at("a")[0].is_number_unsigned());
  EXPECT_EQ(*parse_json("7", "made.json"), 7);
}

TEST(Json, NamesTheOffsetOfWhatIsNot) {
  for (const char* text : {"", "{", "[1,]", "{'a':1}", "01", "nul", "{} {}", "\"\x80\""}) {
    EXPECT_THAT(message(text), HasSubstr("offset ")) << text;
  }
  EXPECT_THAT(message("[1e999]"), HasSubstr("a number is out of range"));
  EXPECT_THAT(message("[1, x]"), HasSubstr("offset 5: not JSON"));
  EXPECT_THAT(message(std::string("[1]\0]", 5)), HasSubstr("offset 3: a zero byte"));
}

TEST(Json, HasALimitOfDepth) {
  EXPECT_EQ(message(nested(kMaxJsonDepth, "[", "]")), "no error");
  EXPECT_EQ(message(nested(kMaxJsonDepth, R"({"a":)", "}")), "no error");
  EXPECT_THAT(message(nested(kMaxJsonDepth + 1, "[", "]")), HasSubstr("deeper than 64"));
  EXPECT_THAT(message(nested(kMaxJsonDepth + 1, R"({"a":)", "}")), HasSubstr("deeper than 64"));
}

TEST(Json, RefusesAKeyTwiceInOneObjectAlone) {
  EXPECT_EQ(message(R"({"a": {"a": 1, "b": {"a": 2}}, "b": [{"a": 1}, {"a": 1}]})"), "no error");
  EXPECT_THAT(message(R"({"a": 1, "b": {"c": 1}, "a": 2})"), HasSubstr("'a' appears twice"));
  EXPECT_THAT(message(R"([{"x": {"c\n": 1, "c\n": 1}}])"), HasSubstr("'c\\x0a' appears twice"));
}

}  // namespace
}  // namespace adze
