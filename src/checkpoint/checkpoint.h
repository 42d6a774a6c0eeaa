// Opening a model from disk: configuration, weights by canonical id, vocabulary, chat template.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "formats/gguf/file.h"
#include "graph/weight.h"
#include "models/model.h"

namespace adze::checkpoint {

// An opened model. Weights are read from its file on demand.
struct Checkpoint {
  std::string path;
  models::ModelConfig config;
  std::unique_ptr<graph::WeightSource> weights;  // by the canonical ids of models/model.h
  std::string chat_template;                     // empty: the model has none
  uint64_t tensor_bytes = 0;                     // of all tensors in the file
  std::shared_ptr<const gguf::File> file;        // for the vocabulary's metadata
};

// Throws Error{kInvalidInput} or {kUnsupported} naming the file and what is wrong with it.
Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace adze::checkpoint
