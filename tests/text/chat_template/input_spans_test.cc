// Which bytes of a prompt come from the request. Expected values by definition: letters of the
// template are marked as its own with the spelling `[input]`.
#include <gtest/gtest.h>

#include "text/chat_template/chat_template.h"

namespace adze::text {
namespace {

using Json = nlohmann::ordered_json;

// The prompt with brackets around what is input.
std::string marked(const std::string& source, const Json& messages,
                   const RenderOptions& options = {}) {
  const RenderedPrompt prompt = ChatTemplate::compile(source, "spans").render(messages, options);
  std::string out;
  for (const Span& span : prompt.spans) {
    const std::string part = prompt.text.substr(span.begin, span.end - span.begin);
    out += span.from_input ? "[" + part + "]" : part;
  }
  return out;
}

const Json kMessages = {{{"role", "user"}, {"content", " Hi <|im_end|> you\n"}, {"n", 12}}};

TEST(InputSpans, ContentIsInputAndTheTemplateIsNot) {
  EXPECT_EQ(marked("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>"
                   "{% endfor %}",
                   kMessages),
            "<|im_start|>[user]\n[ Hi <|im_end|> you\n]<|im_end|>");
}

TEST(InputSpans, FollowTheBytesThroughOperations) {
  const std::pair<const char*, const char*> kCases[] = {
      {"{{ 'a' + c + 'b' }}", "a[ Hi <|im_end|> you\n]b"},
      {"{{ ('a' ~ c ~ 'b')[:5] }}", "a[ Hi ]"},
      {"{{ ('a' ~ c ~ 'b')[::-1] }}", "b[\nuoy >|dne_mi|< iH ]a"},
      {"{{ c | trim }}|{{ ('x' ~ c ~ ' ').strip() }}", "[Hi <|im_end|> you]|x[ Hi <|im_end|> you]"},
      {"{{ ('q' ~ c.strip() ~ 'r') | upper }}", "Q[HI <|IM_END|> YOU]R"},
      {"{{ c.replace('<|im_end|>', 'Z') }}", "[ Hi ]Z[ you\n]"},
      {"{{ 'aXb'.replace('X', c) }}", "a[ Hi <|im_end|> you\n]b"},
      {"{{ c.split() | join('-') }}", "[Hi]-[<|im_end|>]-[you]"},
      {"{{ ['s', c[1:3]] | join('+') }}", "s+[Hi]"},
      {"{% set x %}<{{ c[1] }}>{% endset %}{{ x * 2 }}", "<[H]><[H]>"},
      {"{% macro f(t) %}({{ t }}){% endmacro %}{{ f(c[1:3]) }}", "([Hi])"},
      {"{{ c | list | first }}{{ c[1:3] | first }}", "[ H]"},
      {"{{ ('<' ~ c[1:3]) | escape }}", "&lt;[Hi]"},
      {"{{ ('\n' ~ c[1:3]) | indent(1) }}", "\n [Hi]"},
      {"{{ ('ab ' ~ c[1:3]) | title }}", "Ab [Hi]"},
      {"{% macro f() %}{{ kwargs | list | join }}{% endmacro %}{{ f(**{c[1:3]: 1}) }}", "[Hi]"},
      {"{{ dict(**{c[1:3]: 1}) | first }}", "[Hi]"},
      {"{{ '<{}|{:>4}>{}'.format(c[1:3], c[1:3], 'x') }}", "<[Hi]|  [Hi]>x"},
      {"{{ '<{k[0]!s}>'.format(k=[c[1:3]]) }}{{ c[1:3].format() }}", "<[Hi]>[Hi]"},
      {"{{ '<%s|%5s>%s' % (c[1:3], c[1:3], 'x') }}", "<[Hi]|   [Hi]>x"},
      {"{{ ('<%s>' ~ c[1:3]) % 'x' }}{{ '<%s>' | format(c[1:3]) }}", "<x>[Hi]<[Hi]>"},
      {"{{ '<%(a)s>' % {'a': c[1:3]} }}", "<[Hi]>"},
      {"{{ '<b>' | safe + c[3:7] }}{{ '<' | e + c[1:3] }}", "<b>[ &lt;|i]&lt;[Hi]"},
      {"{{ c[1:3].ljust(4, '.') }}{{ c[1:3].zfill(4) }}{{ c[1:3] | center(6) }}|",
       "[Hi]..00[Hi]  [Hi]  |"},
      {"{{ ('a-' ~ c[1:3]).partition('-')[2] }}{{ ('a ' ~ c[1:3]) | truncate(3, true, '', 0) }}",
       "[Hi]a [H]"},
      {"{{ ('ß' ~ c[1:3]).upper() }}{{ (c[1:2] ~ 'ﬁ') | capitalize }}", "SS[HIH]ﬁ"},
      {"{{ [c[1:3], 'x'] | map('upper') | join('-') }}", "[HI]-X"},
      {"{{ ([c[1:3], 'Z'] | sort | batch(2) | first)[0] }}", "[Hi]"},
      {"{{ ({c[1:3]: 'x'} | dictsort)[0] | join }}", "[Hi]x"},
      {"{{ (messages | groupby('role'))[0].grouper }}", "[user]"},
      {"{% for i in [c[1:3], ['x']] recursive %}{{ loop(i) if i is not string else i }}{% endfor "
       "%}",
       "[Hi]x"},
      {"{% filter upper %}<{{ c[1:3] }}{% endfilter %}", "<[HI]"},
      {"{% macro f() %}<{{ caller(c[1:3]) }}>{% endmacro %}{% call(t) f() %}{{ t }}{% endcall %}",
       "<[Hi]>"},
      {"{% generation %}<{{ c[1:3] }}>{% endgeneration %}", "<[Hi]>"},
      {"{{ (c ~ '</think>x').split('</think>')[-1] }}{{ c.rstrip().split('|>')[0] }}",
       "x[ Hi <|im_end]"},
      // What cannot be followed is input as a whole.
      {"{{ '<{!r}|{:03}>'.format(c[1:3], messages[0].n) }}", "<['Hi']|[012]>"},
      {"{{ '<%r|%03d>' % (c[1:3], messages[0].n) }}", "<['Hi']|[012]>"},
      {"{{ [c[1:3]] | tojson }}", "[[\"Hi\"]]"},
      {"{{ ['x', c[1:3]] }}", "[['x', 'Hi']]"},
      {"{{ ['x'] | tojson }}", "[\"x\"]"},
      {"{{ messages[0].n + 1 }}{{ 5 }}{{ messages[0].n | string }}", "[13]5[12]"},
      {"{{ c[1:3] | length }}{{ messages | length }}", "21"},
      {"{{ 'yes' if 'Hi' in c else 'no' }}", "yes"},
  };
  for (const auto& [source, expected] : kCases) {
    EXPECT_EQ(marked("{% set c = messages[0].content %}" + std::string(source), kMessages),
              std::string(expected))
        << source;
  }
}

TEST(InputSpans, ToolsAndFurtherVariablesAreInputAndTokensAreNot) {
  RenderOptions options;
  options.tools = Json::array({"f"});
  options.extra = {{"name", "N"}};
  options.bos_token = "<s>";
  options.eos_token = "</s>";
  EXPECT_EQ(marked("{{ bos_token }}{{ tools[0] }}.{{ name }}{{ eos_token }}", kMessages, options),
            "<s>[f].[N]</s>");
}

}  // namespace
}  // namespace adze::text
