// What holds for the sizes of every decoder, whatever file they come from.
#pragma once

#include <cstdint>
#include <string>

#include "models/model.h"

namespace adze::checkpoint {

constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxWidth = int64_t{1} << 24;  // of any row of activations

// Heads, key heads and their width fit together in every layer. `heads` and `width` are where the
// file tells them, for messages. Throws Error{kInvalidInput}, and Error{kUnsupported} for an odd
// width.
void check_heads(const models::ModelConfig& config, const std::string& heads,
                 const std::string& width);

}  // namespace adze::checkpoint
