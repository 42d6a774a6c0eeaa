// One request to its end, and what it took.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/console.h"
#include "engine/engine.h"

namespace adze::cli {

struct Outcome {
  std::string text;
  std::vector<int32_t> tokens;
  std::vector<engine::LogProbabilities> log_probabilities;  // of each token, where asked for
  engine::FinishReason reason = engine::FinishReason::kStop;
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;  // of the prompt: were in the cache and needed no computing
  double prompt_seconds = 0;
  double decode_seconds = 0;
  std::optional<double> time_to_first_token;  // seconds since the program began
  size_t proposed_tokens = 0;                 // by speculation
  size_t accepted_tokens = 0;                 // of them

  // Tokens computed per second, where there was anything to measure.
  std::optional<double> prompt_rate() const;
  std::optional<double> decode_rate() const;
};

// Runs it on an engine that has nothing else to do. `show` gets the text as it comes. Ctrl-C
// (`guard`) ends it with FinishReason::kCancelled. What `show` throws ends the request and comes
// out; so does an Error of the engine, which names the model.
Outcome generate(engine::Engine& engine, const engine::LoadedModel& model, engine::Request request,
                 const InterruptGuard& guard, const std::function<void(std::string_view)>& show);

// " · 30 of 40 proposed tokens accepted (75%), 2.50 tokens a step"; empty where none was proposed.
std::string speculation_text(const Outcome& outcome);

// A number for people, in units of `unit`; a dash where there is none.
std::string shown(std::optional<double> value, double unit = 1, int digits = 1);

}  // namespace adze::cli
