// Options that every command that draws tokens takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sampler.h"

namespace adze::cli {

struct SamplingArguments {
  engine::SamplingParams params;
  std::vector<std::string> logit_bias;  // "ID=BIAS"
  std::optional<uint64_t> seed;
};

// Adds --temp, --top-k and their like.
void add_sampling_options(CLI::App& command, SamplingArguments& arguments);

// What they say, with a random seed where none was given. Throws UsageError naming the field.
engine::SamplingParams sampling_params(const SamplingArguments& arguments);

}  // namespace adze::cli
