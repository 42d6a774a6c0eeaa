// The tokenizer of a Hugging Face model: tokenizer.json.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer/vocabulary.h"

namespace adze::checkpoint {

// What the text of a tokenizer.json says, `name` being the file's for messages. Byte-pair encoding
// only, byte-level (GPT-2, Llama 3, Qwen) or SentencePiece-like (Llama 2, Gemma). bos and eos are
// those that the post-processor adds. Truncation and padding are left to the caller, as
// transformers does.
//
// Throws Error{kInvalidInput} naming the file and the field, Error{kUnsupported} for every part of
// the pipeline that has no counterpart here.
text::VocabularyData read_tokenizer_json(std::string_view json, const std::string& name);

}  // namespace adze::checkpoint
