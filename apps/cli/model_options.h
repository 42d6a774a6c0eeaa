// Options that every command with a model takes.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/loaded_model.h"

namespace adze::cli {

struct ModelArguments {
  std::string path;
  int threads = 0;
  std::string activations = "int16";
  std::optional<int32_t> activation_group;
  std::string cache_dtype = "bf16";
  int32_t context = 8192;
  std::vector<std::string> disabled_passes;
};

// Adds -m and the expert options to a command.
void add_model_options(CLI::App& command, ModelArguments& arguments);

// Decimal digits, with leading zeros dropped: CLI11 on its own takes 010 for eight, and wraps what
// does not fit into 64 bits.
extern const CLI::Validator kWholeNumber;

// Texts that may not be empty: CLI11 on its own takes an empty number for zero.
extern const CLI::Validator kNotEmpty;

// Token ids, separated by blanks. Throws Error{kInvalidInput} that names `source` and the word.
std::vector<int32_t> parse_token_ids(std::string_view data, std::string_view source);

// Throws UsageError for options that do not go together and passes that do not exist.
engine::ModelOptions model_options(const ModelArguments& arguments);

// A progress bar on stderr for anything above two seconds, on a terminal only.
graph::LoadProgress terminal_progress(std::string what);

}  // namespace adze::cli
