// Tokenizers made of what files say.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::checkpoint {

// text::make_tokenizer(), whose errors then begin with `file`.
std::unique_ptr<const text::Tokenizer> make_tokenizer(text::VocabularyData data,
                                                      const std::string& file);

// The same on a thread of its own; where the system gives none, get() does the work.
PendingTokenizer start_tokenizer(text::VocabularyData data, std::string file);

}  // namespace adze::checkpoint
