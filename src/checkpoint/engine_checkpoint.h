// Models in engine files: configuration, tokenizer and template as they were read once, weights as
// they were packed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/provider.h"
#include "text/tokenizer/vocabulary.h"

namespace adze::checkpoint {

// What an engine file is made of; all of it outlives the writing.
struct EngineContents {
  const Checkpoint& model;
  const text::Vocabulary& vocabulary;
  std::string weights_sha256;               // of what the model was made from
  std::vector<std::string> ids;             // canonical ids of all weights
  std::vector<std::string> plain;           // those of them that are kept as they are
  std::vector<graph::PackedMatrix> packed;  // of the others
};

// Writes what open_engine() opens. Errors as of engine_file::write().
void write_engine(const std::filesystem::path& path, const EngineContents& contents,
                  const std::function<void(size_t done, size_t total)>& progress);

}  // namespace adze::checkpoint
