#include "base/json.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace adze {
namespace {

using Json = nlohmann::json;

// Watches the parser: what nests too deep or repeats a key is refused before memory goes into it.
class Guard {
 public:
  explicit Guard(const std::string& name) : name_(name) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth) {
        throw_invalid("{}: nested deeper than {} levels", name_, kMaxJsonDepth);
      }
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw_invalid("{}: '{}' appears twice", name_, printable(key));
      }
    }
    return true;
  }

 private:
  std::string name_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  if (const size_t zero = find_zero_byte(text); zero != std::string_view::npos) {
    throw_invalid("{}: offset {}: a zero byte is not JSON", name, zero);
  }
  try {
    return Json::parse(text.begin(), text.end(), Guard(name));
  } catch (const Json::parse_error& error) {
    throw_invalid("{}: offset {}: not JSON", name, error.byte);
  } catch (const Json::out_of_range&) {
    throw_invalid("{}: a number is out of range", name);
  }
}

nlohmann::json read_json_file(const std::filesystem::path& path, uint64_t limit) {
  return parse_json(read_text_file(path, limit), printable(path.string(), kMaxPathBytes));
}

}  // namespace adze
