// How a family of models is stored in a file format.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/hf_config.h"
#include "checkpoint/names.h"
#include "formats/gguf/file.h"
#include "models/model.h"

namespace adze::checkpoint {

// Where a model's weights are among a file's tensors; `file` is for messages.
using NameWeights = NameTable (*)(const graph::WeightSource& tensors, const std::string& file,
                                  const models::ModelConfig& config);

struct GgufFamily {
  std::string_view architecture;  // general.architecture
  models::ModelConfig (*read_config)(const gguf::File& file);
  NameWeights name_weights;
};

struct HfFamily {
  std::string_view architecture;  // the one in config.json's "architectures"
  models::ModelConfig (*read_config)(const HfConfig& config);
  NameWeights name_weights;
};

// Called by static initializers of the files in this folder.
struct RegisterGgufFamily {
  explicit RegisterGgufFamily(const GgufFamily& family);
};
struct RegisterHfFamily {
  explicit RegisterHfFamily(const HfFamily& family);
};

}  // namespace adze::checkpoint
