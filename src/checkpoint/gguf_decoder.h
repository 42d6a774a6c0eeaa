// What the decoder families have in common in GGUF files: keys under the architecture's name, and
// tensor names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/names.h"
#include "formats/gguf/file.h"
#include "models/model.h"

namespace adze::checkpoint {

// Typed and checked metadata of one architecture. Functions throw Error{kInvalidInput} naming file
// and key.
class GgufKeys {
 public:
  // Both outlive it.
  GgufKeys(const gguf::File& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  const gguf::File& file() const { return file_; }
  // "llama.block_count" for "block_count".
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  bool contains(std::string_view name) const { return file_.find(key(name)) != nullptr; }
  // A count from 1 to `limit`.
  int32_t count(std::string_view name, int64_t limit) const;
  // One number for all layers, or an array with a number for each: pruned models have those.
  std::vector<int32_t> per_layer(std::string_view name, int32_t layers) const;
  // Above 0 and at most 1e30; absent where the key is.
  std::optional<double> positive(std::string_view name) const;
  double require_positive(std::string_view name) const;

 private:
  const gguf::File& file_;
  std::string prefix_;
};

// Sizes, heads, rotation and vocabulary of a decoder; every layer sees all positions and turns
// alike. Rotary scaling other than none and linear, experts, attention that is not causal and heads
// whose values have another width than their keys are refused with Error{kUnsupported}.
models::ModelConfig read_decoder_config(const GgufKeys& keys);

// The tensors that every decoder has under one name.
inline constexpr WeightName kGgufDecoderNames[] = {
    {"token_embedding", "token_embd.weight"},
    {"output", "output.weight"},
    {"final_norm", "output_norm.weight"},
    {"layers.{}.attention.norm", "blk.{}.attn_norm.weight"},
    {"layers.{}.attention.query", "blk.{}.attn_q.weight"},
    {"layers.{}.attention.key", "blk.{}.attn_k.weight"},
    {"layers.{}.attention.value", "blk.{}.attn_v.weight"},
    {"layers.{}.attention.output", "blk.{}.attn_output.weight"},
    {"layers.{}.mlp.norm", "blk.{}.ffn_norm.weight"},
    {"layers.{}.mlp.gate", "blk.{}.ffn_gate.weight"},
    {"layers.{}.mlp.up", "blk.{}.ffn_up.weight"},
    {"layers.{}.mlp.down", "blk.{}.ffn_down.weight"},
};

}  // namespace adze::checkpoint
