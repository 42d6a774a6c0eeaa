// From canonical weight ids to the tensors of a file, for every format.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/weight.h"
#include "models/model.h"

namespace adze::checkpoint {

// Canonical id → expression over the file's tensors (ids of the file).
using NameTable = std::map<std::string, graph::Weight, std::less<>>;

// A weight by its canonical id and by the file's name; in both, {} stands for the layer's number.
struct WeightName {
  std::string_view id;
  std::string_view tensor;
};

// The tensors that a model of this configuration has, an output only where it is not tied. Throws
// Error{kInvalidInput} naming `file` and tensor where one is missing or its shape is not what the
// configuration asks for.
NameTable name_tensors(std::span<const WeightName> weights, const models::ModelConfig& config,
                       const graph::WeightSource& tensors, const std::string& file);

// Canonical ids resolved to those expressions over `tensors`; `file` is for messages.
std::unique_ptr<const graph::WeightSource> canonical_weights(
    std::string file, std::unique_ptr<const graph::WeightSource> tensors, NameTable names);

// A tensor that nothing refers to (a bias, an extra norm) would change the answers: such a model is
// not of its family. Throws Error{kUnsupported} naming it.
void refuse_unused_tensors(std::span<const std::string> tensors, const NameTable& names,
                           const std::string& file);

}  // namespace adze::checkpoint
