// Options of speculative decoding, and the draft model that they may name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "engine/loaded_model.h"
#include "engine/speculation.h"

namespace adze::cli {

struct SpeculationArguments {
  std::string kind;   // empty: none
  std::string draft;  // a model; empty: none
  int32_t most = 8;
  bool most_given = false;
};

// Adds --speculate, --draft-model and --draft-max.
void add_speculation_options(CLI::App& command, SpeculationArguments& arguments);

// What they say, and the draft model, loaded.
class SpeculationSetup {
 public:
  // Throws UsageError for options that do not go together.
  explicit SpeculationSetup(const SpeculationArguments& arguments);

  // Rows beside those of an answer that proposals take.
  int32_t rows() const { return options_.kind == engine::Speculation::kNone ? 0 : options_.most; }
  // Loads the draft, if there is one, with the options of the model that it is for.
  void load(const engine::ModelOptions& options);
  const engine::SpeculationOptions& options() const { return options_; }

 private:
  std::string draft_path_;
  std::unique_ptr<engine::LoadedModel> draft_;
  engine::SpeculationOptions options_;
};

}  // namespace adze::cli
