// Opening a model, by format.
#pragma once

#include "checkpoint/checkpoint.h"

namespace adze::checkpoint {

Checkpoint open_gguf(const std::filesystem::path& file);

Checkpoint open_hf(const std::filesystem::path& folder);

Checkpoint open_engine(const std::filesystem::path& file);
std::unique_ptr<const text::Tokenizer> open_engine_tokenizer(const std::filesystem::path& file);

}  // namespace adze::checkpoint
