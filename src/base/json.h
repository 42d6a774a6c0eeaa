// JSON from files, strict and bounded; and as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace adze {

inline constexpr int kMaxJsonDepth = 64;
inline constexpr uint64_t kMaxJsonBytes =
    8 << 20;  // of a configuration, which may list thousands of tokens

// The document in `text`. Throws Error{kInvalidInput} that names `name` and the offset where `text`
// is not JSON, where it nests deeper than kMaxJsonDepth, and where an object has a key twice.
nlohmann::json parse_json(std::string_view text, const std::string& name);

// The document in a file of at most `limit` bytes, with errors as of parse_json() and
// read_text_file().
nlohmann::json read_json_file(const std::filesystem::path& path, uint64_t limit = kMaxJsonBytes);
// … with its objects' keys in the order of the file.
nlohmann::ordered_json read_ordered_json_file(const std::filesystem::path& path,
                                              uint64_t limit = kMaxJsonBytes);

// As text, `indent` blanks for each level, or on one line where that is -1. Its strings may hold
// any bytes (names of files do): what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json, int indent);

// The offset of the first zero byte in `text`, or npos: JSON has none, and the parser would take it
// for the end of the text.
inline size_t find_zero_byte(std::string_view text) { return text.find('\0'); }

}  // namespace adze
