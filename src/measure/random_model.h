// Models of a known shape with random weights: speed without a checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace adze::measure {

// `description`: "SHAPE:TYPE", for example "llama-1b:q4_0"; every matrix is of that type. Weights
// are the same every time; they are made when they are read and take no memory before. Tokens have
// names without meaning. Throws Error{kInvalidInput} for a shape or type that is not known, or that
// do not fit each other.
checkpoint::Checkpoint random_checkpoint(std::string_view description);

std::vector<std::string_view> random_shapes();
std::vector<std::string> random_types();

}  // namespace adze::measure
