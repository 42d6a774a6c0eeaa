// What the decoder families have in common in GGUF files: keys under the architecture's name, and
// tensor names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/family.h"
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
  // Above 0 and at most 1e30; `fallback` where the key is absent, an error where that is 0.
  double positive(std::string_view name, double fallback = 0) const;

 private:
  const gguf::File& file_;
  std::string prefix_;
};

// Sizes, heads, rotation and vocabulary of a decoder; every layer sees all positions and turns
// alike. Rotary scaling other than none and linear, experts, attention that is not causal and heads
// whose values have another width than their keys are refused with Error{kUnsupported}.
models::ModelConfig read_decoder_config(const GgufKeys& keys);

// The tensors that every decoder has, under their canonical ids; each must have the shape that
// `config` says.
class GgufNames {
 public:
  GgufNames(const gguf::File& file, const models::ModelConfig& config);

  // `tensor` [rows, columns] as `id`. Throws Error{kInvalidInput} where its shape is another.
  void add(std::string id, const std::string& tensor, int64_t rows, int64_t columns);
  // For layer i: blk.<i>.<tensor> as layers.<i>.<id>, for each layer.
  void add_norms(std::string_view id, std::string_view tensor, int64_t columns);

  NameTable take() { return std::move(names_); }

 private:
  const gguf::File& file_;
  const models::ModelConfig& config_;
  NameTable names_;
};

}  // namespace adze::checkpoint
