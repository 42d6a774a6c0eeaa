// Opening a tokenizer from disk.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace adze::checkpoint {

// The tokenizer of a GGUF file (which need not have tensors), of a tokenizer.json, or of a folder
// that holds one. Errors name the file.
std::unique_ptr<const text::Tokenizer> open_tokenizer_file(const std::filesystem::path& path);

}  // namespace adze::checkpoint
