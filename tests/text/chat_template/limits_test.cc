// Templates that would run or grow without end.
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "text/chat_template/chat_template.h"

namespace adze::text {
namespace {

using Json = nlohmann::ordered_json;

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

void expect_exhausted(const std::string& source, const Json& messages = Json::array()) {
  SCOPED_TRACE(source.substr(0, 200));
  try {
    const auto prompt = ChatTemplate::compile(source, "limits").render(messages, {});
    ADD_FAILURE() << "rendered " << prompt.text.size() << " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted) << error.what();
  }
}

TEST(TemplateLimits, Steps) {
  expect_exhausted(
      "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}"
      "{% endfor %}{% endfor %}{% endfor %}");
  expect_exhausted(
      "{% set s = 'ab' * 1000000 %}{% for a in range(10000) %}"
      "{% if 'abc' in s %}{% endif %}{% endfor %}");
  expect_exhausted(
      "{% set l = range(90000) | list %}{% for a in l %}{% if -1 in l %}{% endif %}"
      "{% endfor %}");
}

// Values that share parts, so that walking them takes longer the smaller they are.
TEST(TemplateLimits, SharedParts) {
  const std::string doubled =
      "{% set ns = namespace(t=(1, 2)) %}{% for i in range(60) %}"
      "{% set ns.t = (ns.t, ns.t) %}{% endfor %}";
  expect_exhausted(doubled + "{{ {}[ns.t] }}");
  expect_exhausted(doubled + "{{ {ns.t: 1} }}");
  expect_exhausted(doubled + "{{ ns.t == (ns.t, 1) or ns.t in [ns.t ~ ''] }}");
}

// What is as large as a text must be paid for before it is made.
TEST(TemplateLimits, MemoryOfLargeTexts) {
  const std::string large = "{% set s = 'a b ' * 25000000 %}";
  expect_exhausted(large + "{{ s.split() | length }}");
  expect_exhausted(large + "{{ s.rsplit('b') | length }}");
  expect_exhausted(large + "{{ s.split('a') | length }}");
  expect_exhausted(large + "{{ s[::2] | length }}");
  expect_exhausted(large + "{{ s | list | length }}");
  expect_exhausted(large + "{% for i in range(300) %}{{ s.startswith(s) }}{% endfor %}");
  expect_exhausted(large + "{{ {}[(s, s, s, s)] }}");
  expect_exhausted(large + "{% for i in range(300) %}{{ {}[s] }}{% endfor %}");
  const auto chat = ChatTemplate::compile(large + "{{ s.count(' ') }} {{ [][s] }}", "large");
  EXPECT_EQ(chat.render(Json::array(), {}).text, "50000000 ");
}

// Messages about what is absent name it, in part.
TEST(TemplateLimits, NamesOfWhatIsAbsent) {
  const std::string large = "{% set s = 'a b ' * 25000000 %}";
  const auto chat = ChatTemplate::compile(
      large + "{% for i in range(20000) %}{% set x = [][s] %}{% endfor %}done", "large");
  EXPECT_EQ(chat.render(Json::array(), {}).text, "done");
}

// Where each byte came from takes memory as well.
TEST(TemplateLimits, MemoryOfOrigins) {
  const Json messages = {{{"role", "user"}, {"content", "m"}}};
  const std::string spotted = "{% set m = messages[0].content ~ 'x' %}";
  for (const char* source :
       {"{{ m * 30000000 }}", "{{ ('a' * 60000) | list | join(m * 1000) }}",
        "{{ ('a' * 60000).replace('a', m * 1000) }}", "{{ (m * 1000).join('a' * 60000) }}",
        "{{ ('{0}' * 30000).format(m * 3000) }}", "{{ ('a\n' * 60000) | indent(m * 1000) }}"}) {
    const auto chat = ChatTemplate::compile(spotted + source, "spotted");
    try {
      chat.render(messages, {});
      ADD_FAILURE() << source;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted) << source << ": " << error.what();
    }
  }
}

TEST(TemplateLimits, ManyNames) {
  std::string source;
  for (int i = 0; i < 20000; ++i) source += "{% set v" + std::to_string(i) + " = 1 %}";
  expect_exhausted(source);
}

TEST(TemplateLimits, Output) {
  expect_exhausted("{% set s = 'x' * 1000000 %}{% for a in range(5) %}{{ s }}{% endfor %}");
  expect_exhausted("{% macro m() %}{{ 'x' * 5000000 }}{% endmacro %}{% set y = m() %}");
}

TEST(TemplateLimits, Memory) {
  expect_exhausted("{{ 'x' * 1000000000 }}");
  expect_exhausted("{{ [1] * 1000000000 }}");
  expect_exhausted("{{ range(1000000000) | length }}");
  expect_exhausted(
      "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}"
      "{% set ns.s = ns.s ~ ns.s %}{% endfor %}");
  expect_exhausted(
      "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}"
      "{% set ns.s = ns.s.replace('x', 'xxxxxxxxxxxx') %}{% endfor %}");
  expect_exhausted(
      "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}"
      "{% set ns.l = ns.l + ns.l %}{% endfor %}");
  expect_exhausted("{{ ['a', 'b'] | tojson(indent=1000000) }}");
  expect_exhausted("{{ ('a' * 60000) | list | join('b' * 60000) }}");
  expect_exhausted("{{ ('a\n' * 60000) | indent(60000) }}");
}

// Widths and precisions that name more than fits.
TEST(TemplateLimits, Layout) {
  for (const char* source :
       {"{{ '{:1000000000}'.format(1) }}", "{{ '{:01000000000}'.format(1) }}",
        "{{ '{:,>1000000000}'.format('a') }}", "{{ '{:{}}'.format(1, 1000000000) }}",
        "{{ '{:.1000000000f}'.format(1.5) }}", "{{ '{:0999999999,}'.format(1) }}",
        "{{ '%1000000000d' % 1 }}", "{{ '%01000000000d' % 1 }}", "{{ '%.1000000000f' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}", "{{ '%.*f' % (99999999999, 1.5) }}",
        "{{ '%99999999999999999999999s' % 1 }}", "{{ 'a'.ljust(1000000000) }}",
        "{{ 'a'.center(9223372036854775807) }}", "{{ 'a'.zfill(1000000000) }}",
        "{{ 'a' | center(1000000000) }}", "{{ 'a' | indent(1000000000) }}",
        "{{ [1] | batch(1000000000, 0) | list }}", "{{ [1] | slice(1000000000) | list }}"}) {
    expect_exhausted(source);
  }
  expect_exhausted("{% set f = '{0}' * 30000 %}{% set s = 'x' * 30000 %}{{ f.format(s) }}");
  expect_exhausted("{% set f = '%(s)s' * 30000 %}{{ f % {'s': 'x' * 30000} }}");
  expect_exhausted("{% for i in range(100000) %}{{ '{:30000}'.format(i) }}{% endfor %}");
  expect_exhausted(
      "{% for i in range(1000) %}{% set x = range(90000) | slice(90000) | list %}{% endfor %}");
  expect_exhausted(
      "{% set ns = namespace(s='&' | e) %}{% for i in range(60) %}"
      "{% set ns.s = ((ns.s ~ '') | e) + ns.s %}{% endfor %}");
}

TEST(TemplateLimits, RecursiveLoops) {
  expect_exhausted("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}");
  expect_exhausted(
      "{% set ns = namespace() %}{% for i in [1] recursive %}{% set ns.l = loop %}{% endfor %}"
      "{% for i in range(100000) %}{{ ns.l(range(100000)) }}{% endfor %}");
}

TEST(TemplateLimits, Depth) {
  expect_exhausted("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}");
  expect_exhausted("{{ " + repeated("[", 5000) + "1" + repeated("]", 5000) + " }}");
  expect_exhausted("{{ " + repeated("-", 5000) + "1 }}");
  expect_exhausted("{{ " + repeated("not ", 5000) + "1 }}");
  expect_exhausted("{{ 1" + repeated(" + 1", 5000) + " }}");
  expect_exhausted("{{ a" + repeated(".a", 5000) + " }}");
  expect_exhausted("{{ a" + repeated("|list", 5000) + " }}");
  expect_exhausted("{{ 1" + repeated(" if 1 else 1", 5000) + " }}");
  expect_exhausted(repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000));
  expect_exhausted("{% for " + repeated("(", 5000) + "a" + repeated(")", 5000) +
                   " in [] %}{% endfor %}");
  expect_exhausted("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  expect_exhausted(
      "{% macro m() %}{% call m() %}{% endcall %}{{ caller() }}{% endmacro %}"
      "{% call m() %}{% endcall %}");
  expect_exhausted(
      "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}"
      "{% set ns.l = [ns.l] %}{% endfor %}");
  expect_exhausted("{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns }}");
  Json nested = Json::array();
  for (int i = 0; i < 5000; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(nested));
    nested = std::move(outer);
  }
  expect_exhausted("x", nested);
}

// Nothing of these leaks or overflows the stack, which the sanitizers watch.
TEST(TemplateLimits, CyclesAndChainsAreFreed) {
  const auto chat = ChatTemplate::compile(
      "{% set ns = namespace() %}{% set ns.me = ns %}{% macro m() %}{{ ns.m }}{% endmacro %}"
      "{% set ns.m = m %}{% for i in [ns] %}{% set ns.loop = loop %}{% endfor %}"
      "{% for i in [1] %}{% set ns.last = loop.changed([i]) %}{% endfor %}"
      "{% set chain = namespace(n=none) %}{% for i in range(20000) %}"
      "{% set chain.n = namespace(n=chain.n) %}{% endfor %}done",
      "cycles");
  EXPECT_EQ(chat.render(Json::array(), {}).text, "done");
}

TEST(TemplateLimits, AnyBytesAreText) {
  const auto chat = ChatTemplate::compile(
      "{% set c = messages[0] %}{{ c }}{{ c | upper }}{{ c[1:] }}{{ c | trim }}{{ c.split() }}"
      "{{ c | tojson }}{{ c | length }}",
      "bytes");
  const std::string stray = "a\xff\x80 \xe6\x97 \xf0\x9f";
  const auto prompt = chat.render(Json::array({stray}), {});
  EXPECT_EQ(prompt.text.substr(0, stray.size()), stray);
}

TEST(TemplateLimits, ThreadsShareATemplate) {
  const auto chat =
      ChatTemplate::compile("{% for m in messages %}{{ m ~ loop.index }},{% endfor %}", "threads");
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 50; ++run) {
        results[i] = chat.render(Json::array({"a", "b", std::to_string(i)}), {}).text;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i], "a1,b2," + std::to_string(i) + "3,");
  }
}

}  // namespace
}  // namespace adze::text
