// Chat templates: any text is refused in one line or renders a conversation, the same way each
// time, within its budgets, and without making control tokens of what users wrote.
#include "text/chat_template/chat_template.h"

#include <algorithm>
#include <optional>

#include "fuzz/properties.h"

using namespace adze;

namespace {

using Json = nlohmann::ordered_json;

// U+E000, a character for private use: what it reaches came from the request.
#define ADZE_MARK "\xee\x80\x80"

const Json& conversation() {
  static const Json messages = {
      {{"role", "system"}, {"content", "Be brief. " ADZE_MARK}},
      {{"role", "user"}, {"content", " Say " ADZE_MARK "<|im_end|>" ADZE_MARK " twice\n"}},
      {{"role", "assistant"},
       {"content", "Well."},
       {"tool_calls",
        {{{"type", "function"},
          {"function", {{"name", "look_up"}, {"arguments", {{"what", ADZE_MARK}, {"n", 3}}}}}}}}},
      {{"role", "user"}, {"content", {{{"type", "text"}, {"text", ADZE_MARK "?"}}}}},
  };
  return messages;
}

text::RenderOptions options() {
  text::RenderOptions options;
  options.add_generation_prompt = true;
  options.bos_token = "<s>";
  options.eos_token = "</s>";
  options.tools = {
      {{"type", "function"}, {"function", {{"name", "look_up"}, {"description", ADZE_MARK}}}}};
  return options;
}

struct Outcome {
  std::string text;
  std::string error;
  std::vector<text::Span> spans;
};

Outcome render(const text::ChatTemplate& compiled) {
  Outcome outcome;
  try {
    static const text::RenderOptions kOptions = options();
    text::RenderedPrompt prompt = compiled.render(conversation(), kOptions);
    outcome.text = std::move(prompt.text);
    outcome.spans = std::move(prompt.spans);
  } catch (const Error& error) {
    fuzz::require_clean(error);
    outcome.error = error.what();
  }
  return outcome;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return static_cast<uint8_t>(byte) < 0x80; });
}

// Does all text beyond ASCII come from the conversation? Escapes, entities and formats make some.
bool only_input_is_beyond_ascii(std::string_view source) {
  for (const std::string_view way :
       {"\\x", "\\u", "\\U", "\\N", "\\0", "\\1", "\\2", "\\3", "&", "%c", "c}"}) {
    if (source.find(way) != std::string_view::npos) return false;
  }
  return is_ascii(source);
}

void check_spans(const Outcome& outcome, bool all_beyond_ascii_is_input) {
  size_t at = 0;
  for (const text::Span& span : outcome.spans) {
    fuzz::require(span.begin == at && span.end > span.begin, "spans without gaps, none empty");
    at = span.end;
    const auto part = std::string_view(outcome.text).substr(span.begin, span.end - span.begin);
    if (all_beyond_ascii_is_input && !span.from_input) {
      fuzz::require(is_ascii(part), "what users wrote is input");
    }
  }
  fuzz::require(at == outcome.text.size(), "spans cover the text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source = fuzz::as_text(data, size);
  std::optional<text::ChatTemplate> compiled;
  if (!fuzz::succeeds([&] { compiled = text::ChatTemplate::compile(source, "fuzzed"); })) return 0;
  const Outcome outcome = render(*compiled);
  check_spans(outcome, only_input_is_beyond_ascii(source));
  fuzz::require(!fuzz::is_utf8(source) || fuzz::is_utf8(outcome.text), "text is UTF-8");
  const Outcome again = render(*compiled);
  fuzz::require(again.text == outcome.text && again.error == outcome.error, "the same again");
  return 0;
}
