// The messages of a chat, and files of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat.h"

namespace adze::cli {

using Conversation = std::vector<engine::ChatMessage>;

// {"messages": [{"role": "user", "content": "…"}, …]}. Throws Error{kUnavailable} naming the file,
// which is then as it was.
void save_conversation(const std::filesystem::path& path, const Conversation& conversation);

// Throws Error{kInvalidInput} naming file and field for what save_conversation() would not have
// written: at most one system message, first, then user and assistant in turn, an answer last.
Conversation load_conversation(const std::filesystem::path& path);

}  // namespace adze::cli
