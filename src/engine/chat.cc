#include "engine/chat.h"

#include "base/error.h"

namespace adze::engine {

std::vector<int32_t> chat_tokens(const LoadedModel& model, std::string_view, std::string_view) {
  throw_unsupported("{}: chat templates are not there yet; use --no-chat", model.checkpoint().path);
}

}  // namespace adze::engine
