// Conversations to tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/loaded_model.h"

namespace adze::engine {

struct ChatMessage {
  std::string role;  // system, user or assistant; others where the model's template knows them
  std::string content;
};

// A conversation through the model's chat template, ready for the assistant's next answer. What
// the messages say stays text, even where it spells a control token. Most templates
// render a message the same way whatever comes after it: there an older conversation's tokens begin
// a newer one's.
// Throws Error{kUnsupported} where the model has no template, and as ChatTemplate::render() does:
// for roles in an order that the template refuses too.
std::vector<int32_t> chat_tokens(const LoadedModel& model, std::span<const ChatMessage> messages);

}  // namespace adze::engine
