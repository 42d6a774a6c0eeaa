#include "base/json.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace adze {
namespace {

// Watches the parser: what nests too deep or repeats a key is refused before memory goes into it.
template <typename Json>
class Guard {
 public:
  explicit Guard(const std::string& name) : name_(name) {}

  bool operator()(int depth, typename Json::parse_event_t event, Json& parsed) {
    using Event = typename Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth) {
        throw_invalid("{}: nested deeper than {} levels", name_, kMaxJsonDepth);
      }
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.template get_ref<const std::string&>();
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

template <typename Json>
Json parse(std::string_view text, const std::string& name) {
  if (const size_t zero = find_zero_byte(text); zero != std::string_view::npos) {
    throw_invalid("{}: offset {}: a zero byte is not JSON", name, zero);
  }
  try {
    return Json::parse(text.begin(), text.end(), Guard<Json>(name));
  } catch (const typename Json::parse_error& error) {
    throw_invalid("{}: offset {}: not JSON", name, error.byte);
  } catch (const typename Json::out_of_range&) {
    throw_invalid("{}: a number is out of range", name);
  }
}

template <typename Json>
Json read(const std::filesystem::path& path, uint64_t limit) {
  return parse<Json>(read_text_file(path, limit), printable(path.string(), kMaxPathBytes));
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  return parse<nlohmann::json>(text, name);
}

nlohmann::json read_json_file(const std::filesystem::path& path, uint64_t limit) {
  return read<nlohmann::json>(path, limit);
}

nlohmann::ordered_json read_ordered_json_file(const std::filesystem::path& path, uint64_t limit) {
  return read<nlohmann::ordered_json>(path, limit);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace adze
