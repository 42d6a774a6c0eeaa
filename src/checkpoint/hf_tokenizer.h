// The tokenizer and the chat template of a Hugging Face folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::checkpoint {

// What tokenizer.json says, with the begin and end of a text as tokenizer_config.json names them
// and the tokens that end an answer from generation_config.json or else config.json (each of the
// three may be absent). Which of them encode() adds is tokenizer.json's own choice, as in the
// library that wrote it. Where tokenizer.json has fewer than `rows` tokens, unused ones follow: the
// embedding has rows for them. Throws Error naming file and field.
text::VocabularyData read_hf_vocabulary(const std::filesystem::path& folder, int32_t rows);

// Starts to make the tokenizer of it.
PendingTokenizer start_hf_tokenizer(const std::filesystem::path& folder, int32_t rows);
// The tokenizer that a tokenizer.json alone makes.
std::unique_ptr<const text::Tokenizer> open_tokenizer_json(const std::filesystem::path& file);

// chat_template.jinja, or else what tokenizer_config.json has: a template, or a list of named ones,
// of which it is "default". Empty where there is none.
std::string read_hf_chat_template(const std::filesystem::path& folder);

}  // namespace adze::checkpoint
