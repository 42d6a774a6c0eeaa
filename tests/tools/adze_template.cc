// Renders chat templates: one JSON object per line of stdin, one per line of stdout. What Python's
// Jinja is compared with.
//
//   in   {"template": text, "messages": […], "tools": …, "bos_token": …, "eos_token": …,
//         "add_generation_prompt": bool, "extra": {…}}; all but the template may be missing
//   out  {"text": …, "input": [[begin, end], …]} with the bytes that are input, or {"error": line}
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "text/chat_template/chat_template.h"

namespace {

using Json = nlohmann::ordered_json;

std::optional<std::string> optional_text(const Json& request, const char* key) {
  if (!request.contains(key)) return std::nullopt;
  return request[key].get<std::string>();
}

Json render(const Json& request) {
  adze::text::RenderOptions options;
  options.add_generation_prompt = request.value("add_generation_prompt", false);
  options.tools = request.value("tools", Json());
  options.extra = request.value("extra", Json());
  options.bos_token = optional_text(request, "bos_token");
  options.eos_token = optional_text(request, "eos_token");
  try {
    const auto chat = adze::text::ChatTemplate::compile(
        request.at("template").get_ref<const std::string&>(), "template");
    const auto prompt = chat.render(request.value("messages", Json::array()), options);
    Json input = Json::array();
    for (const auto& span : prompt.spans) {
      if (span.from_input) input.push_back(Json::array({span.begin, span.end}));
    }
    return {{"text", prompt.text}, {"input", std::move(input)}};
  } catch (const adze::Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json answer = render(Json::parse(line));
    std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  }
}
