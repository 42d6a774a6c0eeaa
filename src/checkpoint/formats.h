// Opening a model, by format.
#pragma once

#include "checkpoint/checkpoint.h"

namespace adze::checkpoint {

Checkpoint open_gguf(const std::filesystem::path& file);

Checkpoint open_hf(const std::filesystem::path& folder);

}  // namespace adze::checkpoint
