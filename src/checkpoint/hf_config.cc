#include "checkpoint/hf_config.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace adze::checkpoint {
namespace {

using Json = nlohmann::json;

// A value as a message shows it. Bytes that are not UTF-8 cannot be in a parsed document.
std::string shown(const Json& value) { return printable(value.dump()); }

std::optional<int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  return std::nullopt;
}

}  // namespace

HfConfig::HfConfig(const Json& json, std::string file)
    : HfConfig(nullptr, json, std::move(file), "") {}

HfConfig::HfConfig(std::shared_ptr<const JsonDocument> document, const Json& json, std::string file,
                   std::string prefix)
    : document_(std::move(document)),
      json_(&json),
      file_(std::move(file)),
      prefix_(std::move(prefix)) {
  if (!json_->is_object()) throw_invalid("{}: not an object", place(""));
}

HfConfig HfConfig::open(const std::filesystem::path& path) {
  auto document = std::make_shared<const JsonDocument>(read_json_file(path));
  const Json& root = **document;
  return HfConfig(std::move(document), root, printable(path.string(), kMaxPathBytes), "");
}

std::optional<HfConfig> HfConfig::open_if_present(const std::filesystem::path& path) {
  if (!is_present(path)) return std::nullopt;
  return open(path);
}

std::string HfConfig::place(std::string_view key) const {
  std::string path = prefix_ + std::string(key);
  if (path.ends_with('.')) path.pop_back();
  return path.empty() ? file_ : file_ + ": " + path;
}

void HfConfig::wrong_type(std::string_view key, std::string_view expected) const {
  throw_invalid("{}: {} is not {}", place(key), shown(*find(key)), expected);
}

void HfConfig::missing(std::string_view key) const { throw_invalid("{} is missing", place(key)); }

const Json* HfConfig::find(std::string_view key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<int64_t> HfConfig::integer(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = as_integer(*value);
  if (!number) wrong_type(key, "an integer of 64 bits");
  return number;
}

std::optional<double> HfConfig::real(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) wrong_type(key, "a number");
  return value->get<double>();
}

std::optional<bool> HfConfig::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) wrong_type(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> HfConfig::text(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) wrong_type(key, "a text");
  return value->get<std::string>();
}

std::optional<std::vector<std::string>> HfConfig::texts(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) wrong_type(key, "a list of texts");
  std::vector<std::string> texts;
  for (const Json& element : *value) {
    if (!element.is_string()) wrong_type(key, "a list of texts");
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

std::optional<std::vector<int64_t>> HfConfig::integers(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  const auto add = [&](const Json& element) {
    const std::optional<int64_t> number = as_integer(element);
    if (!number) wrong_type(key, "an integer or a list of integers");
    numbers.push_back(*number);
  };
  if (!value->is_array()) add(*value);
  if (value->is_array()) std::ranges::for_each(*value, add);
  return numbers;
}

std::optional<HfConfig> HfConfig::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return HfConfig(document_, *value, file_, fmt::format("{}{}.", prefix_, key));
}

std::optional<int32_t> HfConfig::count(std::string_view key, int64_t limit) const {
  const std::optional<int64_t> value = integer(key);
  if (!value) return std::nullopt;
  if (*value < 1 || *value > limit) {
    throw_invalid("{}: {} is not from 1 to {}", place(key), *value, limit);
  }
  return static_cast<int32_t>(*value);
}

int32_t HfConfig::require_count(std::string_view key, int64_t limit) const {
  const std::optional<int32_t> value = count(key, limit);
  if (!value) missing(key);
  return *value;
}

std::optional<double> HfConfig::positive(std::string_view key) const {
  const std::optional<double> value = real(key);
  if (value && (!(*value > 0) || *value > 1e30)) {
    throw_invalid("{}: {} is not above 0 and at most 1e30", place(key), *value);
  }
  return value;
}

double HfConfig::require_positive(std::string_view key) const {
  const std::optional<double> value = positive(key);
  if (!value) missing(key);
  return *value;
}

void HfConfig::allow_only(std::string_view key, const Json& value) const {
  const Json* found = find(key);
  if (found == nullptr || *found == value) return;
  throw_unsupported("{}: {} is not supported", place(key), shown(*found));
}

void HfConfig::refuse(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  throw_unsupported("{}: {} is not supported", place(key), shown(*found));
}

void HfConfig::refuse_others(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw_unsupported("{}: not supported", place(printable(key)));
  }
}

}  // namespace adze::checkpoint
