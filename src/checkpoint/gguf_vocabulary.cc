#include "checkpoint/gguf_vocabulary.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/make_tokenizer.h"

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

// The names of GGUF's kinds of tokenizers that this program has.
void read_kind(const gguf::File& file, text::VocabularyData& data) {
  const std::string_view model = file.require_text("tokenizer.ggml.model");
  if (model == "gpt2") {
    data.model = "gpt2";
    const auto name = file.text("tokenizer.ggml.pre");
    if (!name) {
      throw_unsupported("{}: tokenizer.ggml.pre is missing: how text is split is not known",
                        file.name());
    }
    const auto rules = text::pre_tokenizer_named(*name);
    if (!rules) {
      throw_unsupported("{}: tokenizer.ggml.pre: pre-tokenizer \"{}\" is not supported",
                        file.name(), printable(*name));
    }
    data.pre_tokenizer = *rules;
  } else if (model == "llama" || model == "gemma4") {
    // Gemma 4 has SentencePiece's spelling with listed merges.
    data.model = "llama";
  } else {
    throw_unsupported("{}: tokenizer.ggml.model \"{}\" is not supported", file.name(),
                      printable(model));
  }
}

// Pre-tokenizers whose models begin every text with bos, which early files left unsaid.
bool bos_by_default(const gguf::File& file) {
  const std::string_view pre = file.text("tokenizer.ggml.pre").value_or("");
  return pre == "llama-bpe" || pre == "llama3" || pre == "llama-v3" || pre == "tekken";
}

}  // namespace

text::VocabularyData read_vocabulary(const gguf::File& file) {
  text::VocabularyData data;
  read_kind(file, data);
  const bool sentencepiece = data.model == "llama";
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
  } else if (!sentencepiece) {
    file.missing("tokenizer.ggml.merges");  // byte-pair encoding without them takes text apart
  } else if (data.scores.empty()) {
    file.missing("tokenizer.ggml.scores");
  }
  for (const std::string_view key :
       {"tokenizer.ggml.remove_extra_whitespaces", "tokenizer.ggml.add_sep_token"}) {
    if (file.boolean(key).value_or(false))
      throw_unsupported("{}: {} is not supported", file.name(), key);
  }
  // What the format leaves unsaid follows llama.cpp, whose format it is.
  const auto id_or = [&](std::string_view key, std::optional<text::TokenId> otherwise) {
    const auto id = token_id(file, key);
    return id || !sentencepiece ? id : otherwise;
  };
  data.special.bos = id_or("tokenizer.ggml.bos_token_id", 1);
  data.special.eos = id_or("tokenizer.ggml.eos_token_id", 2);
  data.special.unknown = id_or("tokenizer.ggml.unknown_token_id", 0);
  data.special.eot = token_id(file, "tokenizer.ggml.eot_token_id");
  data.special.eom = token_id(file, "tokenizer.ggml.eom_token_id");
  data.special.padding = token_id(file, "tokenizer.ggml.padding_token_id");
  data.add_bos =
      file.boolean("tokenizer.ggml.add_bos_token").value_or(sentencepiece || bos_by_default(file));
  data.add_eos = file.boolean("tokenizer.ggml.add_eos_token").value_or(false);
  if (file.boolean("tokenizer.ggml.add_space_prefix").value_or(sentencepiece)) {
    data.space_prefix = text::SpacePrefix::kEvery;
  }
  return data;
}

std::unique_ptr<const text::Tokenizer> open_tokenizer(const gguf::File& file) {
  return make_tokenizer(read_vocabulary(file), file.name());
}

}  // namespace adze::checkpoint
