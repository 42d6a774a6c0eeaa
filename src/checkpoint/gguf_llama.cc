// The Llama family in GGUF files: metadata keys, tensor names, and the row order of queries and
// keys.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "checkpoint/family.h"

namespace adze::checkpoint {
namespace {

constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxWidth = int64_t{1} << 24;

// A count from the metadata, 1 to `limit`.
int32_t count(const gguf::File& file, const std::string& key, int64_t limit) {
  const int64_t value = file.require_integer(key);
  if (value < 1 || value > limit) {
    throw_invalid("{}: {}: {} is not from 1 to {}", file.name(), key, value, limit);
  }
  return static_cast<int32_t>(value);
}

// One number for all layers, or an array with a number for each: pruned models have those.
std::vector<int32_t> per_layer(const gguf::File& file, const std::string& key, int32_t layers) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr) file.missing(key);
  if (value->type != gguf::ValueType::kArray) {
    return std::vector<int32_t>(static_cast<size_t>(layers), count(file, key, kMaxWidth));
  }
  const std::vector<int64_t> numbers = *file.integers(key);
  if (numbers.size() != static_cast<size_t>(layers)) {
    throw_invalid("{}: {}: {} numbers for {} layers", file.name(), key, numbers.size(), layers);
  }
  std::vector<int32_t> out;
  for (const int64_t number : numbers) {
    if (number < 1 || number > kMaxWidth) {
      throw_invalid("{}: {}: {} is not from 1 to {}", file.name(), key, number, kMaxWidth);
    }
    out.push_back(static_cast<int32_t>(number));
  }
  return out;
}

double positive(const gguf::File& file, const std::string& key, double value) {
  if (!(value > 0) || value > 1e30) {
    throw_invalid("{}: {}: {} is not above 0 and at most 1e30", file.name(), key, value);
  }
  return value;
}

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
// spelling of the factor.
void refuse_rope_scaling(const gguf::File& file) {
  const auto type = file.text("llama.rope.scaling.type");
  if (type && *type != "none") {
    throw_unsupported("{}: llama.rope.scaling.type: '{}' is not supported", file.name(),
                      printable(*type));
  }
  if (file.real("llama.rope.scaling.attn_factor").value_or(1) != 1) {
    throw_unsupported("{}: llama.rope.scaling.attn_factor is not supported", file.name());
  }
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const double factor = file.real(key).value_or(1);
    if (!type && factor != 0 && factor != 1) {
      throw_unsupported("{}: {}: rotary scaling by {} is not supported", file.name(), key, factor);
    }
  }
}

models::ModelConfig read_config(const gguf::File& file) {
  models::ModelConfig config;
  config.architecture = "llama";
  config.name = std::string(file.text("general.name").value_or(""));
  config.layers = count(file, "llama.block_count", kMaxLayers);
  config.hidden = count(file, "llama.embedding_length", kMaxWidth);
  config.context_length = count(file, "llama.context_length", std::numeric_limits<int32_t>::max());
  config.heads = per_layer(file, "llama.attention.head_count", config.layers);
  config.kv_heads = file.find("llama.attention.head_count_kv") != nullptr
                        ? per_layer(file, "llama.attention.head_count_kv", config.layers)
                        : config.heads;
  config.ffn = per_layer(file, "llama.feed_forward_length", config.layers);
  for (size_t i = 0; i < config.heads.size(); ++i) {
    if (config.heads[i] % config.kv_heads[i] != 0) {
      throw_invalid("{}: llama.attention.head_count: {} is not a multiple of {} key heads",
                    file.name(), config.heads[i], config.kv_heads[i]);
    }
  }
  config.head_dim = file.find("llama.attention.key_length") != nullptr
                        ? count(file, "llama.attention.key_length", kMaxWidth)
                        : config.hidden / config.heads.front();
  const int32_t most_heads = *std::max_element(config.heads.begin(), config.heads.end());
  if (int64_t{most_heads} * config.head_dim > kMaxWidth) {
    throw_invalid("{}: llama.attention.head_count: {} heads of {} are more than {} in all",
                  file.name(), most_heads, config.head_dim, kMaxWidth);
  }
  config.rotary_dim = file.find("llama.rope.dimension_count") != nullptr
                          ? count(file, "llama.rope.dimension_count", kMaxWidth)
                          : config.head_dim;
  if (config.rotary_dim != config.head_dim || config.head_dim % 2 != 0) {
    throw_unsupported("{}: llama.rope.dimension_count: {} of head dimension {}", file.name(),
                      config.rotary_dim, config.head_dim);
  }
  config.rope_theta =
      positive(file, "llama.rope.freq_base", file.real("llama.rope.freq_base").value_or(10000.0));
  const std::string epsilon = "llama.attention.layer_norm_rms_epsilon";
  config.norm_epsilon = positive(file, epsilon, file.require_real(epsilon));
  refuse_rope_scaling(file);
  if (!file.boolean("llama.attention.causal").value_or(true)) {
    throw_unsupported("{}: llama.attention.causal: only causal attention is supported",
                      file.name());
  }
  if (const auto width = file.integer("llama.attention.value_length");
      width && *width != config.head_dim) {
    throw_unsupported("{}: llama.attention.value_length: {} beside keys of {} is not supported",
                      file.name(), *width, config.head_dim);
  }
  if (file.find_tensor("rope_freqs.weight") != nullptr) {
    throw_unsupported("{}: tensor rope_freqs.weight: rotary scaling is not supported", file.name());
  }
  if (file.integer("llama.expert_count").value_or(0) > 0) {
    throw_unsupported("{}: mixtures of experts are not supported", file.name());
  }
  config.vocabulary = vocabulary(file, "token_embd.weight");
  config.tied_output = file.find_tensor("output.weight") == nullptr;
  return config;
}

// GGUF's converter interleaves the two halves of a head's rotary dimensions; canonical order keeps
// them apart.
std::vector<int32_t> half_split_rows(int32_t heads, int32_t head_dim) {
  std::vector<int32_t> rows;
  for (int32_t head = 0; head < heads; ++head) {
    for (int32_t i = 0; i < head_dim; ++i) {
      const int32_t half = head_dim / 2;
      rows.push_back(head * head_dim + (i < half ? 2 * i : 2 * (i - half) + 1));
    }
  }
  return rows;
}

NameTable name_weights(const gguf::File& file, const models::ModelConfig& config) {
  NameTable names;
  const auto add = [&](std::string id, const std::string& tensor, int64_t rows, int64_t columns) {
    const gguf::TensorInfo& info = file.require_tensor(tensor);
    if (info.rows() != static_cast<uint64_t>(rows) ||
        info.columns() != static_cast<uint64_t>(columns)) {
      throw_invalid("{}: tensor {}: {} × {}, expected {} × {}", file.name(), tensor, info.rows(),
                    info.columns(), rows, columns);
    }
    names.emplace(std::move(id), graph::tensor(tensor));
  };
  add("token_embedding", "token_embd.weight", config.vocabulary, config.hidden);
  if (!config.tied_output) add("output", "output.weight", config.vocabulary, config.hidden);
  add("final_norm", "output_norm.weight", 1, config.hidden);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const auto i = static_cast<size_t>(layer);
    const std::string from = fmt::format("blk.{}.", layer);
    const std::string attention = fmt::format("layers.{}.attention.", layer);
    const std::string mlp = fmt::format("layers.{}.mlp.", layer);
    const int64_t query_rows = int64_t{config.heads[i]} * config.head_dim;
    const int64_t kv_rows = int64_t{config.kv_heads[i]} * config.head_dim;
    add(attention + "norm", from + "attn_norm.weight", 1, config.hidden);
    add(attention + "query", from + "attn_q.weight", query_rows, config.hidden);
    add(attention + "key", from + "attn_k.weight", kv_rows, config.hidden);
    add(attention + "value", from + "attn_v.weight", kv_rows, config.hidden);
    add(attention + "output", from + "attn_output.weight", config.hidden, query_rows);
    add(mlp + "norm", from + "ffn_norm.weight", 1, config.hidden);
    add(mlp + "gate", from + "ffn_gate.weight", config.ffn[i], config.hidden);
    add(mlp + "up", from + "ffn_up.weight", config.ffn[i], config.hidden);
    add(mlp + "down", from + "ffn_down.weight", config.hidden, config.ffn[i]);
    for (const auto& [id, heads] : {std::pair{attention + "query", config.heads[i]},
                                    std::pair{attention + "key", config.kv_heads[i]}}) {
      graph::Weight& weight = names.find(id)->second;
      weight = graph::permute_rows(weight, half_split_rows(heads, config.head_dim), "half_split");
    }
  }
  return names;
}

const RegisterGgufFamily kLlama({"llama", read_config, name_weights});

}  // namespace
}  // namespace adze::checkpoint
