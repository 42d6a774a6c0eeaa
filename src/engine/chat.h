// Conversations to tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/loaded_model.h"

namespace adze::engine {

// A system message (unless empty) and a user's message through the model's chat template, ready for
// the answer. What the user wrote stays text, even where it spells a control token. Throws
// Error{kUnsupported} where the model has no template.
std::vector<int32_t> chat_tokens(const LoadedModel& model, std::string_view system,
                                 std::string_view user);

}  // namespace adze::engine
