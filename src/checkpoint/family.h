// How a family of models is stored in a GGUF file.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "formats/gguf/file.h"
#include "graph/weight.h"
#include "models/model.h"

namespace adze::checkpoint {

// Canonical id → expression over the file's tensors (ids of the file).
using NameTable = std::map<std::string, graph::Weight, std::less<>>;

struct GgufFamily {
  std::string_view architecture;  // general.architecture
  models::ModelConfig (*read_config)(const gguf::File& file);
  NameTable (*name_weights)(const gguf::File& file, const models::ModelConfig& config);
};

// Called by static initializers of the files in this folder.
struct RegisterGgufFamily {
  explicit RegisterGgufFamily(const GgufFamily& family);
};

}  // namespace adze::checkpoint
