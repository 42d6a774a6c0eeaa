// Opening a model from disk, whatever its format: a .gguf file, a Hugging Face folder (config.json,
// tokenizer.json, safetensors), or an engine file. Nothing outside this folder knows which it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "graph/weight.h"
#include "models/model.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::checkpoint {

// A tokenizer that is being made; get() waits for it and throws what making it threw.
using PendingTokenizer = std::future<std::unique_ptr<const text::Tokenizer>>;

// An opened model. Weights are read from its files on demand.
struct Checkpoint {
  std::string path;  // as messages name it
  models::ModelConfig config;
  std::unique_ptr<const graph::WeightSource> weights;  // by the canonical ids of models/model.h
  // Large vocabularies take as long as packing the weights: made meanwhile. get() never gives null,
  // and throws as open_checkpoint().
  PendingTokenizer tokenizer;
  std::string chat_template;  // empty: the model has none
  uint64_t tensor_bytes = 0;  // of all tensors in the files
};

// Throws Error{kInvalidInput} or {kUnsupported} naming the file and what is wrong with it.
Checkpoint open_checkpoint(const std::filesystem::path& path);

// The tokenizer alone: of a GGUF file that need not have tensors, of an engine file, of a
// tokenizer.json, or of a folder that holds one. Throws as open_checkpoint().
std::unique_ptr<const text::Tokenizer> open_tokenizer(const std::filesystem::path& path);

}  // namespace adze::checkpoint
