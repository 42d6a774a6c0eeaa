#include "apps/cli/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace adze::cli {
namespace {

// A conversation is text that people typed and read.
constexpr uint64_t kMaxFileBytes = 64u << 20;

// The fields of `object`, all of `names` and nothing else.
void check_fields(const nlohmann::json& object, std::initializer_list<std::string_view> names,
                  const std::string& where) {
  if (!object.is_object()) throw_invalid("{}: not an object", where);
  for (const std::string_view name : names) {
    if (!object.contains(name)) throw_invalid("{}: no field '{}'", where, name);
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      throw_invalid("{}: unknown field '{}'", where, printable(key));
    }
  }
}

std::string text_field(const nlohmann::json& object, const char* name, const std::string& where) {
  if (!object[name].is_string()) throw_invalid("{}.{}: not a string", where, name);
  return object[name].get<std::string>();
}

}  // namespace

void save_conversation(const std::filesystem::path& path, const Conversation& conversation) {
  if (is_present(path)) {
    try {
      load_conversation(path);
    } catch (const Error&) {
      throw_invalid("{}: is there, and no saved conversation: it stays as it is",
                    printable(path.string(), kMaxPathBytes));
    }
  }
  auto messages = nlohmann::ordered_json::array();
  for (const engine::ChatMessage& message : conversation) {
    messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  AtomicFileWriter file(path);
  file.write(json_text({{"messages", std::move(messages)}}, 2) + "\n");
  file.commit();
}

Conversation load_conversation(const std::filesystem::path& path) {
  const std::string file = printable(path.string(), kMaxPathBytes);
  const JsonDocument document = read_json_file(path, kMaxFileBytes);
  const nlohmann::json& json = *document;
  check_fields(json, {"messages"}, file);
  if (!json["messages"].is_array()) throw_invalid("{}: messages: not an array", file);
  Conversation conversation;
  for (const nlohmann::json& entry : json["messages"]) {
    const std::string where = fmt::format("{}: messages[{}]", file, conversation.size());
    check_fields(entry, {"role", "content"}, where);
    engine::ChatMessage message = {text_field(entry, "role", where),
                                   text_field(entry, "content", where)};
    const std::string before = conversation.empty() ? "" : conversation.back().role;
    const bool may_follow = message.role == "system" ? before.empty()
                            : message.role == "user"
                                ? before != "user"
                                : message.role == "assistant" && before == "user";
    if (!may_follow) {
      throw_invalid("{}.role: '{}' cannot {}", where, printable(message.role),
                    before.empty() ? "come first" : fmt::format("follow '{}'", before));
    }
    conversation.push_back(std::move(message));
  }
  if (!conversation.empty() && conversation.back().role == "user") {
    throw_invalid("{}: messages[{}].role: 'user' cannot come last", file, conversation.size() - 1);
  }
  return conversation;
}

}  // namespace adze::cli
