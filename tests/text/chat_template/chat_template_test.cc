// Chat templates against Python's Jinja: tests/golden/chat_template.json, see
// make_template_golden.py.
#include "text/chat_template/chat_template.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace adze::text {
namespace {

using Json = nlohmann::ordered_json;

const Json& golden() {
  static const Json json =
      Json::parse(read_text_file(ADZE_SOURCE_DIR "/tests/golden/chat_template.json"));
  return json;
}

// Spans are sorted and cover the text.
void check_spans(const RenderedPrompt& prompt) {
  size_t at = 0;
  bool previous = false;
  for (const Span& span : prompt.spans) {
    EXPECT_EQ(span.begin, at);
    EXPECT_GT(span.end, span.begin);
    EXPECT_TRUE(at == 0 || span.from_input != previous);
    previous = span.from_input;
    at = span.end;
  }
  EXPECT_EQ(at, prompt.text.size());
}

// Renders and compares with a row of the golden file: its text, or that it fails, and a syntax
// error's line.
void check(const Json& expected, const std::string& source, const Json& messages,
           const RenderOptions& options) {
  try {
    const RenderedPrompt prompt = ChatTemplate::compile(source, "golden").render(messages, options);
    check_spans(prompt);
    ASSERT_TRUE(expected.contains("output")) << "rendered " << prompt.text << ", not " << expected;
    EXPECT_EQ(prompt.text, expected["output"].get<std::string>());
  } catch (const Error& error) {
    ASSERT_FALSE(expected.contains("output")) << error.what();
    const bool forbidden = error.kind() == ErrorKind::kUnsupported &&
                           expected["error"] == "runtime";  // what the sandbox keeps out
    EXPECT_TRUE(error.kind() == ErrorKind::kInvalidInput || forbidden) << error.what();
    if (expected["error"] == "syntax") {
      const std::string line = "line " + std::to_string(expected["line"].get<int>()) + ":";
      EXPECT_NE(std::string(error.what()).find(line), std::string::npos)
          << error.what() << ", not " << line;
    }
  }
}

TEST(ChatTemplateGolden, Conversations) {
  ASSERT_GE(golden()["renders"].size(), 400u);
  for (const Json& row : golden()["renders"]) {
    SCOPED_TRACE(row["template"].get<std::string>() + " " + row["conversation"].get<std::string>());
    const Json& conversation = golden()["conversations"][row["conversation"].get<std::string>()];
    RenderOptions options;
    options.add_generation_prompt = row["generate"];
    if (conversation.contains("tools")) options.tools = conversation["tools"];
    if (conversation.contains("extra")) options.extra = conversation["extra"];
    options.bos_token = "<s>";
    options.eos_token = "</s>";
    check(row, golden()["templates"][row["template"].get<std::string>()], conversation["messages"],
          options);
  }
}

TEST(ChatTemplateGolden, Snippets) {
  ASSERT_GE(golden()["snippets"].size(), 150u);
  RenderOptions options;
  options.extra = golden()["variables"];
  for (const Json& row : golden()["snippets"]) {
    SCOPED_TRACE(row["source"].get<std::string>());
    check(row, row["source"], Json::array(), options);
  }
}

TEST(ChatTemplateGolden, ExceptionsOfTheTemplateKeepTheirMessage) {
  const auto chat = ChatTemplate::compile("\n{{ raise_exception('No ' ~ 'way') }}", "mine");
  try {
    chat.render(Json::array(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_STREQ(error.what(), "mine: chat template: line 2: No way");
  }
}

TEST(ChatTemplateGolden, UnknownConstructsAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> kCases[] = {
      {"\n{% include 'x' %}", "line 2: the tag 'include'"},
      {"{{ a }}\n\n{{ a | wordwrap }}", "line 3: the filter 'wordwrap'"},
      {"{{ ['a'] | map('urlize') | list }}", "line 1: the filter 'urlize'"},
      {"{% block x %}{% endblock %}", "line 1: the tag 'block'"},
      {"{{ 'a'.expandtabs(3) }}", "line 1: 'expandtabs' of a 'str'"},
      {"\n{{ joiner(',') }}", "line 2: 'joiner'"},
      {"{{ 9223372036854775807 + 1 }}", "line 1: an integer that does not fit in 64 bits"},
      {"{{ 4611686018427387904 * -3 }}", "line 1: an integer that does not fit in 64 bits"},
      {"{{ 3 ** 99 }}", "line 1: an integer that does not fit in 64 bits"},
  };
  for (const auto& [source, message] : kCases) {
    SCOPED_TRACE(source);
    try {
      ChatTemplate::compile(source, "t").render(Json::array(), {});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
      EXPECT_EQ(std::string(error.what()),
                std::string("t: chat template: ") + message + " is not supported");
    }
  }
}

TEST(ChatTemplateGolden, TimeIsFormatted) {
  const auto prompt =
      ChatTemplate::compile("{{ strftime_now('%Y-%m-%d') }}", "t").render(Json::array(), {});
  ASSERT_EQ(prompt.text.size(), 10u);
  EXPECT_GE(prompt.text, "2024-01-01");
}

}  // namespace
}  // namespace adze::text
