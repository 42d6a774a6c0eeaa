// Chat templates: what turns a conversation into a prompt.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adze::text {

// Bytes [begin, end) of a prompt.
struct Span {
  size_t begin;
  size_t end;
  bool from_input;
};

// A prompt and where its bytes come from. The spans are sorted, not empty and cover the text
// without gaps. What is from_input must not be read as control tokens by a tokenizer: it is text of
// the request, which may spell <|im_end|> (CVE-2026-44222).
struct RenderedPrompt {
  std::string text;
  std::vector<Span> spans;
};

struct RenderOptions {
  bool add_generation_prompt = false;
  nlohmann::ordered_json tools;          // null: none
  std::optional<std::string> bos_token;  // undefined in the template where absent
  std::optional<std::string> eos_token;
  nlohmann::ordered_json extra;  // an object of further variables, or null
};

// A compiled template in the Jinja subset that chat templates use, with the meaning it has in
// Jinja's ImmutableSandboxedEnvironment(trim_blocks, lstrip_blocks, loop controls) and the
// functions, `tojson` and `generation` tags that Hugging Face transformers adds. Nothing a template
// does reaches outside: it sees the values it is given, and time and memory are bounded (Limits in
// context.h). Immutable: any number of threads may render at once.
//
// Beyond Jinja's own: numbers are 64 bits wide; `|safe` marks nothing, since nothing is escaped.
class ChatTemplate {
 public:
  // `name` is for messages. Throws Error, with the line: kInvalidInput for a syntax error,
  // kUnsupported for a construct of Jinja's that is not here, kResourceExhausted for too deep
  // nesting or a source above 1 MiB.
  static ChatTemplate compile(std::string_view source, std::string name);

  // Renders `messages`, an array of objects. Text and numbers of messages, tools and extra count as
  // input wherever they end up: through concatenation, slicing, trimming, replacing and changes of
  // case byte by byte; what is made of them otherwise (tojson, numbers as text) as a whole. Lengths
  // and positions do not. Throws Error, with the line: kInvalidInput where Jinja raises, and for
  // raise_exception() in the template; kUnsupported; kResourceExhausted over a limit.
  RenderedPrompt render(const nlohmann::ordered_json& messages, const RenderOptions& options) const;

 private:
  struct Compiled;
  explicit ChatTemplate(std::shared_ptr<const Compiled> compiled)
      : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace adze::text
