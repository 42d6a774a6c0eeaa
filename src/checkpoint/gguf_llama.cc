// The Llama family in GGUF files: its rows of queries and keys are in an order of their own.
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "checkpoint/family.h"
#include "checkpoint/gguf_decoder.h"

namespace adze::checkpoint {
namespace {

models::ModelConfig read_config(const gguf::File& file) {
  models::ModelConfig config = read_decoder_config(GgufKeys(file, "llama"));
  config.architecture = "llama";
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

NameTable name_weights(const graph::WeightSource& tensors, const std::string& file,
                       const models::ModelConfig& config) {
  NameTable names = name_tensors(kGgufDecoderNames, config, tensors, file);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const auto i = static_cast<size_t>(layer);
    for (const auto& [what, heads] :
         {std::pair{"query", config.heads[i]}, std::pair{"key", config.kv_heads[i]}}) {
      graph::Weight& weight =
          names.find(fmt::format("layers.{}.attention.{}", layer, what))->second;
      weight = graph::permute_rows(weight, half_split_rows(heads, config.head_dim), "half_split");
    }
  }
  return names;
}

const RegisterGgufFamily kLlama({"llama", read_config, name_weights});

}  // namespace
}  // namespace adze::checkpoint
