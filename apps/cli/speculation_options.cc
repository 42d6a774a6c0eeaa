#include "apps/cli/speculation_options.h"

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"

namespace adze::cli {

void add_speculation_options(CLI::App& command, SpeculationArguments& a) {
  command
      .add_option("--speculate", a.kind,
                  "Propose several tokens a step and keep those that come true; lookup: what\n"
                  "followed the last few tokens when they came before. The answer stays the same")
      ->check(CLI::IsMember({"lookup"}));
  command
      .add_option("--draft-model", a.draft,
                  "A smaller model with the same vocabulary that proposes tokens")
      ->type_name("MODEL")
      ->check(kNotEmpty);
  command.add_option("--draft-max", a.most, "Tokens proposed in one step at most")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->each([&a](const std::string&) { a.most_given = true; });
}

SpeculationSetup::SpeculationSetup(const SpeculationArguments& a) : draft_path_(a.draft) {
  if (!a.kind.empty() && !a.draft.empty()) {
    throw UsageError("give either --speculate or --draft-model");
  }
  if (a.most_given && a.kind.empty() && a.draft.empty()) {
    throw UsageError("--draft-max: nothing is proposed without --speculate or --draft-model");
  }
  options_.most = a.most;
  if (!a.kind.empty()) options_.kind = engine::Speculation::kLookup;
  if (!a.draft.empty()) options_.kind = engine::Speculation::kDraft;
}

void SpeculationSetup::load(const engine::ModelOptions& options) {
  if (options_.kind != engine::Speculation::kDraft) return;
  draft_ = std::make_unique<engine::LoadedModel>(draft_path_, options,
                                                 terminal_progress("Loading the draft"));
  options_.draft = draft_.get();
}

}  // namespace adze::cli
