// The tokenizer of a GGUF file.
#pragma once

#include <memory>

#include "formats/gguf/file.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::checkpoint {

// What the keys tokenizer.ggml.* say. Throws Error{kInvalidInput} naming file and key.
text::VocabularyData read_vocabulary(const gguf::File& file);

// The tokenizer made of it. Errors name the file too; Error{kUnsupported} for a kind of tokenizer
// or pre-tokenizer that is not known here.
std::unique_ptr<const text::Tokenizer> open_tokenizer(const gguf::File& file);

}  // namespace adze::checkpoint
