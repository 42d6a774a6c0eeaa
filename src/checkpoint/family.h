// How a family of models is stored in a file format.
#pragma once

#include <string_view>

#include "checkpoint/hf_config.h"
#include "checkpoint/names.h"
#include "formats/gguf/file.h"
#include "models/model.h"

namespace adze::checkpoint {

struct GgufFamily {
  std::string_view architecture;  // general.architecture
  models::ModelConfig (*read_config)(const gguf::File& file);
  NameTable (*name_weights)(const gguf::File& file, const models::ModelConfig& config);
};

struct HfFamily {
  std::string_view architecture;  // the one in config.json's "architectures"
  models::ModelConfig (*read_config)(const HfConfig& config);
  // `file` is for messages.
  NameTable (*name_weights)(const graph::WeightSource& tensors, const std::string& file,
                            const models::ModelConfig& config);
};

// Called by static initializers of the files in this folder.
struct RegisterGgufFamily {
  explicit RegisterGgufFamily(const GgufFamily& family);
};
struct RegisterHfFamily {
  explicit RegisterHfFamily(const HfFamily& family);
};

}  // namespace adze::checkpoint
