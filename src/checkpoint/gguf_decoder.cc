#include "checkpoint/gguf_decoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace adze::checkpoint {
namespace {

constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxWidth = int64_t{1} << 24;

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
    if (file.real(keys.key(name)).value_or(0) != 0) return keys.positive(name);
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
  for (size_t i = 0; i < config.heads.size(); ++i) {
    if (config.heads[i] % config.kv_heads[i] != 0) {
      throw_invalid("{}: {}: {} is not a multiple of {} key heads", file.name(),
                    keys.key("attention.head_count"), config.heads[i], config.kv_heads[i]);
    }
  }
  config.head_dim = keys.contains("attention.key_length")
                        ? keys.count("attention.key_length", kMaxWidth)
                        : config.hidden / config.heads.front();
  const int32_t most_heads = *std::max_element(config.heads.begin(), config.heads.end());
  if (int64_t{most_heads} * config.head_dim > kMaxWidth) {
    throw_invalid("{}: {}: {} heads of {} are more than {} in all", file.name(),
                  keys.key("attention.head_count"), most_heads, config.head_dim, kMaxWidth);
  }
  config.rotary_dim = keys.contains("rope.dimension_count")
                          ? keys.count("rope.dimension_count", kMaxWidth)
                          : config.head_dim;
  if (config.rotary_dim != config.head_dim || config.head_dim % 2 != 0) {
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

double GgufKeys::positive(std::string_view name, double fallback) const {
  const std::string full = key(name);
  const double value =
      fallback > 0 ? file_.real(full).value_or(fallback) : file_.require_real(full);
  if (!(value > 0) || value > 1e30) {
    throw_invalid("{}: {}: {} is not above 0 and at most 1e30", file_.name(), full, value);
  }
  return value;
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
  config.norm_epsilon = keys.positive("attention.layer_norm_rms_epsilon");
  const auto layers = static_cast<size_t>(config.layers);
  config.rope.assign(
      layers, {.theta = keys.positive("rope.freq_base", 10000.0), .factor = rope_factor(keys)});
  config.window.assign(layers, 0);
  config.query_scalar = config.head_dim;
  refuse_what_changes_answers(keys, config);
  config.vocabulary = vocabulary(file, "token_embd.weight");
  config.tied_output = file.find_tensor("output.weight") == nullptr;
  return config;
}

GgufNames::GgufNames(const gguf::File& file, const models::ModelConfig& config)
    : file_(file), config_(config) {
  add("token_embedding", "token_embd.weight", config.vocabulary, config.hidden);
  if (!config.tied_output) add("output", "output.weight", config.vocabulary, config.hidden);
  add("final_norm", "output_norm.weight", 1, config.hidden);
  add_norms("attention.norm", "attn_norm.weight", config.hidden);
  add_norms("mlp.norm", "ffn_norm.weight", config.hidden);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const auto i = static_cast<size_t>(layer);
    const std::string from = fmt::format("blk.{}.", layer);
    const std::string attention = fmt::format("layers.{}.attention.", layer);
    const std::string mlp = fmt::format("layers.{}.mlp.", layer);
    const int64_t query_rows = int64_t{config.heads[i]} * config.head_dim;
    const int64_t kv_rows = int64_t{config.kv_heads[i]} * config.head_dim;
    add(attention + "query", from + "attn_q.weight", query_rows, config.hidden);
    add(attention + "key", from + "attn_k.weight", kv_rows, config.hidden);
    add(attention + "value", from + "attn_v.weight", kv_rows, config.hidden);
    add(attention + "output", from + "attn_output.weight", config.hidden, query_rows);
    add(mlp + "gate", from + "ffn_gate.weight", config.ffn[i], config.hidden);
    add(mlp + "up", from + "ffn_up.weight", config.ffn[i], config.hidden);
    add(mlp + "down", from + "ffn_down.weight", config.hidden, config.ffn[i]);
  }
}

void GgufNames::add(std::string id, const std::string& tensor, int64_t rows, int64_t columns) {
  const gguf::TensorInfo& info = file_.require_tensor(tensor);
  if (info.rows() != static_cast<uint64_t>(rows) ||
      info.columns() != static_cast<uint64_t>(columns)) {
    throw_invalid("{}: tensor {}: {} × {}, expected {} × {}", file_.name(), tensor, info.rows(),
                  info.columns(), rows, columns);
  }
  names_.emplace(std::move(id), graph::tensor(tensor));
}

void GgufNames::add_norms(std::string_view id, std::string_view tensor, int64_t columns) {
  for (int32_t layer = 0; layer < config_.layers; ++layer) {
    add(fmt::format("layers.{}.{}", layer, id), fmt::format("blk.{}.{}", layer, tensor), 1,
        columns);
  }
}

}  // namespace adze::checkpoint
