#include "checkpoint/gguf_vocabulary.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace adze::checkpoint {
namespace {

text::TokenType token_type(const gguf::File& file, int64_t code) {
  switch (code) {
    case 1:
      return text::TokenType::kNormal;
    case 2:
      return text::TokenType::kUnknown;
    case 3:
      return text::TokenType::kControl;
    case 4:
      return text::TokenType::kUserDefined;
    case 5:
      return text::TokenType::kUnused;
    case 6:
      return text::TokenType::kByte;
    default:
      throw_invalid("{}: tokenizer.ggml.token_type: unknown type {}", file.name(), code);
  }
}

std::optional<text::TokenId> token_id(const gguf::File& file, std::string_view key) {
  const auto id = file.integer(key);
  if (!id) return std::nullopt;
  if (*id < 0 || *id > std::numeric_limits<text::TokenId>::max()) {
    throw_invalid("{}: {}: token id {} is out of range", file.name(), key, *id);
  }
  return static_cast<text::TokenId>(*id);
}

}  // namespace

text::VocabularyData read_vocabulary(const gguf::File& file) {
  text::VocabularyData data;
  data.model = file.require_text("tokenizer.ggml.model");
  data.pre_tokenizer = file.text("tokenizer.ggml.pre").value_or("");
  const StringTable* tokens = file.strings("tokenizer.ggml.tokens");
  if (tokens == nullptr) file.missing("tokenizer.ggml.tokens");
  data.tokens = *tokens;
  if (const auto types = file.integers("tokenizer.ggml.token_type")) {
    data.types.reserve(types->size());
    for (const int64_t code : *types) data.types.push_back(token_type(file, code));
  }
  if (const auto scores = file.reals("tokenizer.ggml.scores")) {
    data.scores.reserve(scores->size());
    for (const double score : *scores) data.scores.push_back(static_cast<float>(score));
  }
  if (const StringTable* merges = file.strings("tokenizer.ggml.merges")) {
    data.merges = *merges;
  } else if (data.model == "gpt2") {
    file.missing("tokenizer.ggml.merges");  // byte-pair encoding without them takes text apart
  }
  data.special.bos = token_id(file, "tokenizer.ggml.bos_token_id");
  data.special.eos = token_id(file, "tokenizer.ggml.eos_token_id");
  data.special.eot = token_id(file, "tokenizer.ggml.eot_token_id");
  data.special.eom = token_id(file, "tokenizer.ggml.eom_token_id");
  data.special.unknown = token_id(file, "tokenizer.ggml.unknown_token_id");
  data.special.padding = token_id(file, "tokenizer.ggml.padding_token_id");
  data.add_bos = file.boolean("tokenizer.ggml.add_bos_token").value_or(false);
  data.add_eos = file.boolean("tokenizer.ggml.add_eos_token").value_or(false);
  data.add_space_prefix = file.boolean("tokenizer.ggml.add_space_prefix").value_or(false);
  return data;
}

std::unique_ptr<const text::Tokenizer> open_tokenizer(const gguf::File& file) {
  text::VocabularyData data = read_vocabulary(file);
  try {
    return text::make_tokenizer(std::move(data));
  } catch (const Error& error) {
    throw Error(error.kind(), file.name() + ": " + error.what());
  }
}

}  // namespace adze::checkpoint
