#include "engine/chat.h"

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/byte_range.h"
#include "text/chat_template/chat_template.h"

namespace adze::engine {
namespace {

std::optional<std::string> spelling(const text::Vocabulary& vocabulary,
                                    std::optional<text::TokenId> id) {
  if (!id) return std::nullopt;
  return std::string(vocabulary.text(*id));
}

}  // namespace

std::vector<int32_t> chat_tokens(const LoadedModel& model, std::span<const ChatMessage> messages) {
  const checkpoint::Checkpoint& checkpoint = model.checkpoint();
  if (checkpoint.chat_template.empty()) {
    throw_unsupported("{}: the model has no chat template; use --no-chat", checkpoint.path);
  }
  const auto chat = text::ChatTemplate::compile(checkpoint.chat_template, checkpoint.path);
  OrderedJsonDocument conversation(nlohmann::ordered_json::array());
  for (const ChatMessage& message : messages) {
    OrderedJsonDocument entry(nlohmann::ordered_json::object());
    (*entry)["role"] = message.role;
    (*entry)["content"] = message.content;
    conversation->push_back(std::move(*entry));
  }

  const text::Vocabulary& vocabulary = model.tokenizer().vocabulary();
  text::RenderOptions options;
  options.add_generation_prompt = true;
  options.bos_token = spelling(vocabulary, vocabulary.special().bos);
  options.eos_token = spelling(vocabulary, vocabulary.special().eos);
  const text::RenderedPrompt prompt = chat.render(*conversation, options);
  std::vector<text::ByteRange> written;
  for (const text::Span& span : prompt.spans) {
    if (span.from_input) written.push_back({span.begin, span.end});
  }
  // The template spells what marks the beginning of a text, where the model wants it.
  return model.tokenizer().encode(
      prompt.text, {.add_special = false, .parse_special = true, .literal = written});
}

}  // namespace adze::engine
