#include "text/chat_template/chat_template.h"

#include "text/chat_template/interpreter.h"
#include "text/chat_template/json.h"
#include "text/chat_template/lexer.h"
#include "text/chat_template/parser.h"

namespace adze::text {

struct ChatTemplate::Compiled {
  std::string name;
  chat::Body body;
};

ChatTemplate ChatTemplate::compile(std::string_view source, std::string name) {
  if (source.size() > chat::Limits::kSourceSize) {
    throw_exhausted("{}: chat template: more than {} bytes", printable(name, kMaxPathBytes),
                    chat::Limits::kSourceSize);
  }
  chat::Body body = chat::parse(chat::tokenize(source, name), name);
  return ChatTemplate(std::make_shared<const Compiled>(Compiled{std::move(name), std::move(body)}));
}

namespace {

// The spans of a text with these input ranges.
std::vector<Span> make_spans(const chat::String& text) {
  std::vector<Span> spans;
  size_t at = 0;
  for (const auto& [begin, end] : text.input_ranges()) {
    if (begin > at) spans.push_back({at, begin, false});
    spans.push_back({begin, end, true});
    at = end;
  }
  if (at < text.size()) spans.push_back({at, text.size(), false});
  return spans;
}

}  // namespace

RenderedPrompt ChatTemplate::render(const nlohmann::ordered_json& messages,
                                    const RenderOptions& options) const {
  chat::Context context(compiled_->name);
  std::vector<std::pair<std::string_view, chat::Value>> variables;
  variables.emplace_back("messages", chat::from_json(context, messages, true));
  variables.emplace_back("tools", chat::from_json(context, options.tools, true));
  variables.emplace_back("documents", chat::Value());
  variables.emplace_back("add_generation_prompt",
                         chat::Value::boolean(options.add_generation_prompt));
  if (options.bos_token) variables.emplace_back("bos_token", context.text(*options.bos_token));
  if (options.eos_token) variables.emplace_back("eos_token", context.text(*options.eos_token));
  if (!options.extra.is_null() && !options.extra.is_object()) {
    throw_invalid("{}: chat template: further variables must be an object",
                  printable(compiled_->name));
  }
  for (const auto& [name, value] : options.extra.items()) {
    chat::Value converted = chat::from_json(context, value, true);
    const auto known = std::find_if(variables.begin(), variables.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (known != variables.end()) {
      known->second = std::move(converted);
    } else {
      variables.emplace_back(name, std::move(converted));
    }
  }
  chat::Interpreter interpreter(context, std::move(variables));
  const chat::String text = interpreter.run(compiled_->body);
  return {text.text(), make_spans(text)};
}

}  // namespace adze::text
