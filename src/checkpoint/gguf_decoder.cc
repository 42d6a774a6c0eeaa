#include "checkpoint/gguf_decoder.h"

#include <fmt/core.h>

#include <limits>

#include "base/error.h"
#include "checkpoint/decoder_limits.h"

namespace adze::checkpoint {
namespace {

// Rows of the embedding table: one for each token.
int32_t vocabulary(const gguf::File& file, const std::string& table) {
  const uint64_t rows = file.require_tensor(table).rows();
  const StringTable* tokens = file.strings("tokenizer.ggml.tokens");
  const uint64_t expected = tokens == nullptr ? rows : tokens->size();
  if (rows != expected || rows > std::numeric_limits<int32_t>::max()) {
    throw_invalid("{}: tensor {}: {} rows for {} tokens", file.name(), table, rows, expected);
  }
  return static_cast<int32_t>(rows);
}

// A file without a type whose factor is not one means linear scaling; the second key is an older
// spelling of the factor. A factor of 0 means none.
double rope_factor(const GgufKeys& keys) {
  const gguf::File& file = keys.file();
  const auto type = file.text(keys.key("rope.scaling.type"));
  if (type && *type != "none" && *type != "linear") {
    throw_unsupported("{}: {}: '{}' is not supported", file.name(), keys.key("rope.scaling.type"),
                      printable(*type));
  }
  if (file.real(keys.key("rope.scaling.attn_factor")).value_or(1) != 1) {
    throw_unsupported("{}: {} is not supported", file.name(), keys.key("rope.scaling.attn_factor"));
  }
  if (type && *type == "none") return 1;
  for (const char* name : {"rope.scaling.factor", "rope.scale_linear"}) {
    if (file.real(keys.key(name)).value_or(0) != 0) return *keys.positive(name);
  }
  return 1;
}

void refuse_what_changes_answers(const GgufKeys& keys, const models::ModelConfig& config) {
  const gguf::File& file = keys.file();
  if (!file.boolean(keys.key("attention.causal")).value_or(true)) {
    throw_unsupported("{}: {}: only causal attention is supported", file.name(),
                      keys.key("attention.causal"));
  }
  if (const auto width = file.integer(keys.key("attention.value_length"));
      width && *width != config.head_dim) {
    throw_unsupported("{}: {}: {} beside keys of {} is not supported", file.name(),
                      keys.key("attention.value_length"), *width, config.head_dim);
  }
  if (file.find_tensor("rope_freqs.weight") != nullptr) {
    throw_unsupported("{}: tensor rope_freqs.weight: rotary scaling is not supported", file.name());
  }
  if (file.integer(keys.key("expert_count")).value_or(0) > 0) {
    throw_unsupported("{}: mixtures of experts are not supported", file.name());
  }
}

void read_heads(const GgufKeys& keys, models::ModelConfig& config) {
  const gguf::File& file = keys.file();
  config.heads = keys.per_layer("attention.head_count", config.layers);
  config.kv_heads = keys.contains("attention.head_count_kv")
                        ? keys.per_layer("attention.head_count_kv", config.layers)
                        : config.heads;
  config.head_dim = keys.contains("attention.key_length")
                        ? keys.count("attention.key_length", kMaxWidth)
                        : config.hidden / config.heads.front();
  check_heads(config, fmt::format("{}: {}", file.name(), keys.key("attention.head_count")),
              fmt::format("{}: {}", file.name(), keys.key("attention.key_length")));
  config.rotary_dim = keys.contains("rope.dimension_count")
                          ? keys.count("rope.dimension_count", kMaxWidth)
                          : config.head_dim;
  if (config.rotary_dim != config.head_dim) {
    throw_unsupported("{}: {}: {} of head dimension {}", file.name(),
                      keys.key("rope.dimension_count"), config.rotary_dim, config.head_dim);
  }
}

}  // namespace

int32_t GgufKeys::count(std::string_view name, int64_t limit) const {
  const int64_t value = file_.require_integer(key(name));
  if (value < 1 || value > limit) {
    throw_invalid("{}: {}: {} is not from 1 to {}", file_.name(), key(name), value, limit);
  }
  return static_cast<int32_t>(value);
}

std::vector<int32_t> GgufKeys::per_layer(std::string_view name, int32_t layers) const {
  const gguf::Value* value = file_.find(key(name));
  if (value == nullptr) file_.missing(key(name));
  if (value->type != gguf::ValueType::kArray) {
    return std::vector<int32_t>(static_cast<size_t>(layers), count(name, kMaxWidth));
  }
  const std::vector<int64_t> numbers = *file_.integers(key(name));
  if (numbers.size() != static_cast<size_t>(layers)) {
    throw_invalid("{}: {}: {} numbers for {} layers", file_.name(), key(name), numbers.size(),
                  layers);
  }
  std::vector<int32_t> out;
  for (const int64_t number : numbers) {
    if (number < 1 || number > kMaxWidth) {
      throw_invalid("{}: {}: {} is not from 1 to {}", file_.name(), key(name), number, kMaxWidth);
    }
    out.push_back(static_cast<int32_t>(number));
  }
  return out;
}

std::optional<double> GgufKeys::positive(std::string_view name) const {
  const std::optional<double> value = file_.real(key(name));
  if (value && (!(*value > 0) || *value > 1e30)) {
    throw_invalid("{}: {}: {} is not above 0 and at most 1e30", file_.name(), key(name), *value);
  }
  return value;
}

double GgufKeys::require_positive(std::string_view name) const {
  const std::optional<double> value = positive(name);
  if (!value) file_.missing(key(name));
  return *value;
}

models::ModelConfig read_decoder_config(const GgufKeys& keys) {
  const gguf::File& file = keys.file();
  models::ModelConfig config;
  config.name = std::string(file.text("general.name").value_or(""));
  config.layers = keys.count("block_count", kMaxLayers);
  config.hidden = keys.count("embedding_length", kMaxWidth);
  config.context_length = keys.count("context_length", std::numeric_limits<int32_t>::max());
  read_heads(keys, config);
  config.ffn = keys.per_layer("feed_forward_length", config.layers);
  config.norm_epsilon = keys.require_positive("attention.layer_norm_rms_epsilon");
  const auto layers = static_cast<size_t>(config.layers);
  constexpr double kTheta = 1e4;
  config.rope.assign(layers, {.theta = keys.positive("rope.freq_base").value_or(kTheta),
                              .factor = rope_factor(keys)});
  config.window.assign(layers, 0);
  config.query_scalar = config.head_dim;
  refuse_what_changes_answers(keys, config);
  config.vocabulary = vocabulary(file, "token_embd.weight");
  config.tied_output = file.find_tensor("output.weight") == nullptr;
  return config;
}

}  // namespace adze::checkpoint
