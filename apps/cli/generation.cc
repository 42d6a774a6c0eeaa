#include "apps/cli/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "base/error.h"
#include "engine/process.h"

namespace adze::cli {
namespace {

std::optional<double> rate(size_t tokens, double seconds) {
  if (tokens == 0 || seconds <= 0) return std::nullopt;
  return static_cast<double>(tokens) / seconds;
}

}  // namespace

std::optional<double> Outcome::prompt_rate() const {
  return rate(prompt_tokens - reused_tokens, prompt_seconds);
}

std::optional<double> Outcome::decode_rate() const {
  return rate(tokens.empty() ? 0 : tokens.size() - 1, decode_seconds);
}

std::string speculation_text(const Outcome& outcome) {
  if (outcome.proposed_tokens == 0) return {};
  const auto proposed = static_cast<double>(outcome.proposed_tokens);
  const auto accepted = static_cast<double>(outcome.accepted_tokens);
  const auto tokens = static_cast<double>(outcome.tokens.size());
  return fmt::format(" · {} of {} proposed tokens accepted ({:.0f}%), {:.2f} tokens a step",
                     outcome.accepted_tokens, outcome.proposed_tokens, 100 * accepted / proposed,
                     tokens / std::max(1.0, tokens - accepted));
}

std::string shown(std::optional<double> value, double unit, int digits) {
  return value ? fmt::format("{:.{}f}", *value / unit, digits) : "–";
}

Outcome generate(engine::Engine& engine, const engine::LoadedModel& model, engine::Request request,
                 const InterruptGuard& guard, const std::function<void(std::string_view)>& show) {
  Outcome outcome;
  outcome.prompt_tokens = request.tokens.size();
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::string error;
  // The engine would take what `show` throws for a failure of the request.
  std::exception_ptr not_shown;
  const auto take = [&](std::string_view text) {
    outcome.text += text;
    if (text.empty() || not_shown) return;
    try {
      show(text);
    } catch (...) {
      not_shown = std::current_exception();
    }
  };
  engine::Listener listener;
  listener.on_token = [&](const engine::TokenInfo& token) {
    if (outcome.tokens.empty()) {
      outcome.prompt_seconds = elapsed();
      outcome.time_to_first_token = engine::seconds_since_start();
    }
    outcome.tokens.push_back(token.token);
    if (token.log_probabilities != nullptr) {
      outcome.log_probabilities.push_back(*token.log_probabilities);
    }
    take(token.text);
  };
  listener.on_finish = [&](engine::FinishReason reason, std::string_view text,
                           std::string_view why) {
    outcome.reason = reason;
    error = why;
    take(text);
  };
  const int64_t reused_before = engine.reused_tokens();
  const int64_t proposed_before = engine.proposed_tokens();
  const int64_t accepted_before = engine.accepted_tokens();
  const engine::RequestId id = engine.submit(std::move(request), std::move(listener));
  // Where memory is short the request is cancelled, and its end awaited: it refers to what is here.
  std::exception_ptr no_memory;
  for (bool more = true; more;) {
    if (guard.interrupted() || not_shown || no_memory) engine.cancel(id);
    try {
      more = engine.step();
    } catch (const std::bad_alloc&) {
      no_memory = std::current_exception();
    }
  }
  if (outcome.tokens.empty()) outcome.prompt_seconds = elapsed();
  outcome.decode_seconds = elapsed() - outcome.prompt_seconds;
  outcome.reused_tokens = static_cast<size_t>(engine.reused_tokens() - reused_before);
  outcome.proposed_tokens = static_cast<size_t>(engine.proposed_tokens() - proposed_before);
  outcome.accepted_tokens = static_cast<size_t>(engine.accepted_tokens() - accepted_before);
  if (not_shown) std::rethrow_exception(not_shown);
  if (no_memory) std::rethrow_exception(no_memory);
  if (outcome.reason == engine::FinishReason::kError) {
    throw_internal("{}: {}", model.checkpoint().path, error);
  }
  return outcome;
}

}  // namespace adze::cli
