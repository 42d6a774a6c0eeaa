// A chat at a terminal.
#pragma once

#include <string>

#include "engine/engine.h"
#include "engine/loaded_model.h"

namespace adze::cli {

struct ChatOptions {
  std::string system;       // the system message; empty: none
  engine::Request request;  // what every answer is asked with, without its tokens
  engine::SpeculationOptions speculation = {};
};

// Reads messages and commands and streams answers until the user leaves. The whole conversation
// goes to one engine each time. What goes wrong within a turn is said on stderr, and that turn is
// withdrawn. Throws Interrupted where the user left with Ctrl-C, and OutputClosed.
void chat_on_terminal(engine::LoadedModel& model, const ChatOptions& options);

}  // namespace adze::cli
