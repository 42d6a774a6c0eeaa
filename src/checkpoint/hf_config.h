// The JSON files of a Hugging Face folder, read key by key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace adze::checkpoint {

// An object of config.json or a file like it, or one inside it. A key whose value is null counts as
// absent. All functions throw Error{kInvalidInput} that names file and key where a value is of
// another type or out of range.
class HfConfig {
 public:
  // The object `json`, which must outlive this; throws where it is none. `file` is for messages.
  HfConfig(const nlohmann::json& json, std::string file);
  static HfConfig open(const std::filesystem::path& path);
  static std::optional<HfConfig> open_if_present(const std::filesystem::path& path);

  const std::string& file() const { return file_; }
  // "config.json: rope_scaling.factor", for messages.
  std::string place(std::string_view key) const;

  const nlohmann::json* find(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;  // integers convert
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::vector<std::string>> texts(std::string_view key) const;
  // One number or a list of them.
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<HfConfig> object(std::string_view key) const;

  // A number from 1 to `limit`.
  std::optional<int32_t> count(std::string_view key, int64_t limit) const;
  int32_t require_count(std::string_view key, int64_t limit) const;
  // A number above 0 and at most 1e30.
  std::optional<double> positive(std::string_view key) const;
  double require_positive(std::string_view key) const;
  [[noreturn]] void missing(std::string_view key) const;

  // What changes the arithmetic and is supported with one value alone. Throws Error{kUnsupported}
  // where the key has another.
  void allow_only(std::string_view key, const nlohmann::json& value) const;
  // … and what is not supported at all.
  void refuse(std::string_view key) const;
  // Refuses every key that is not among these: for objects whose every key counts.
  void refuse_others(std::initializer_list<std::string_view> known) const;

 private:
  HfConfig(std::shared_ptr<const JsonDocument> document, const nlohmann::json& json,
           std::string file, std::string prefix);
  [[noreturn]] void wrong_type(std::string_view key, std::string_view expected) const;

  std::shared_ptr<const JsonDocument> document_;  // that json_ is in, where this owns it
  const nlohmann::json* json_;
  std::string file_;
  std::string prefix_;  // of keys in messages: "rope_scaling."
};

}  // namespace adze::checkpoint
