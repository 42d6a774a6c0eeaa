#include "checkpoint/hf_tokenizer.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/make_tokenizer.h"
#include "checkpoint/tokenizer_json.h"

namespace adze::checkpoint {
namespace {

// Those of the largest vocabularies have some 35 MB.
constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxTemplateBytes = 1 << 20;

std::optional<text::TokenId> find_token(const text::VocabularyData& data, std::string_view text) {
  for (size_t id = 0; id < data.tokens.size(); ++id) {
    if (data.tokens[id] == text) return static_cast<text::TokenId>(id);
  }
  return std::nullopt;
}

// A token that tokenizer_config.json names: its text, or an object with the text as "content".
void read_named_token(const HfConfig& config, std::string_view key,
                      const text::VocabularyData& data, std::optional<text::TokenId>& id) {
  const nlohmann::json* value = config.find(key);
  if (value == nullptr) return;
  std::optional<std::string> text;
  if (value->is_object()) {
    text = config.object(key)->text("content");
    if (!text) config.object(key)->missing("content");
  } else {
    text = config.text(key);
  }
  id = find_token(data, *text);
  if (!id) throw_invalid("{}: '{}' is no token", config.place(key), printable(*text));
}

// Tokens that end an answer: the first is the end of a text unless tokenizer_config.json has named
// another.
bool read_end_tokens(const std::optional<HfConfig>& config, text::VocabularyData& data) {
  if (!config) return false;
  const auto ids = config->integers("eos_token_id");
  if (!ids) return false;
  for (const int64_t id : *ids) {
    if (id < 0 || static_cast<uint64_t>(id) >= data.tokens.size()) {
      throw_invalid("{}: {} is no token", config->place("eos_token_id"), id);
    }
    const auto token = static_cast<text::TokenId>(id);
    if (!data.special.eos) data.special.eos = token;
    data.special.stops.push_back(token);
  }
  return true;
}

void add_unused_tokens(text::VocabularyData& data, int32_t rows) {
  for (auto id = data.tokens.size(); id < static_cast<size_t>(rows); ++id) {
    if (data.types.empty()) data.types.assign(id, text::TokenType::kNormal);
    data.tokens.add(fmt::format("[PAD{}]", id));
    data.types.push_back(text::TokenType::kUnused);
    if (!data.scores.empty()) data.scores.push_back(0);
  }
}

text::VocabularyData read_tokenizer_file(const std::filesystem::path& path) {
  return read_tokenizer_json(read_text_file(path, kMaxTokenizerBytes),
                             printable(path.string(), kMaxPathBytes));
}

}  // namespace

text::VocabularyData read_hf_vocabulary(const std::filesystem::path& folder, int32_t rows) {
  text::VocabularyData data = read_tokenizer_file(folder / "tokenizer.json");
  add_unused_tokens(data, rows);
  if (const auto config = HfConfig::open_if_present(folder / "tokenizer_config.json")) {
    read_named_token(*config, "bos_token", data, data.special.bos);
    read_named_token(*config, "eos_token", data, data.special.eos);
    read_named_token(*config, "unk_token", data, data.special.unknown);
    read_named_token(*config, "pad_token", data, data.special.padding);
  }
  if (!read_end_tokens(HfConfig::open_if_present(folder / "generation_config.json"), data)) {
    read_end_tokens(HfConfig::open_if_present(folder / "config.json"), data);
  }
  return data;
}

PendingTokenizer start_hf_tokenizer(const std::filesystem::path& folder, int32_t rows) {
  return start_tokenizer(read_hf_vocabulary(folder, rows),
                         printable((folder / "tokenizer.json").string(), kMaxPathBytes));
}

std::unique_ptr<const text::Tokenizer> open_tokenizer_json(const std::filesystem::path& file) {
  return make_tokenizer(read_tokenizer_file(file), printable(file.string(), kMaxPathBytes));
}

std::string read_hf_chat_template(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "chat_template.jinja";
  if (is_present(file)) return read_text_file(file, kMaxTemplateBytes);
  const auto config = HfConfig::open_if_present(folder / "tokenizer_config.json");
  const nlohmann::json* value = config ? config->find("chat_template") : nullptr;
  if (value == nullptr) return {};
  if (!value->is_array()) return *config->text("chat_template");
  for (const nlohmann::json& element : *value) {
    const HfConfig named(element, config->place("chat_template"));
    if (named.text("name") != "default") continue;
    const auto text = named.text("template");
    if (!text) named.missing("template");
    return *text;
  }
  throw_unsupported("{}: none of the templates is named 'default'", config->place("chat_template"));
}

}  // namespace adze::checkpoint
