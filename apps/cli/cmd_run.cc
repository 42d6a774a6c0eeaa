// `adze run`: a prompt in, streamed text out, statistics at the end.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/model_options.h"
#include "apps/cli/sampling_options.h"
#include "base/error.h"
#include "engine/chat.h"
#include "engine/engine.h"
#include "engine/process.h"

namespace adze::cli {
namespace {

struct Arguments {
  ModelArguments model;
  std::string prompt;
  bool prompt_given = false;
  bool context_given = false;
  std::string system;
  bool no_chat = false;
  bool json = false;
  bool ids = false;
  int32_t chunk = 512;
  engine::Request request;
  SamplingArguments sampling;
};

struct Outcome {
  std::string text;
  std::vector<int32_t> tokens;
  std::vector<engine::LogProbabilities> log_probabilities;  // of each token, where asked for
  engine::FinishReason reason = engine::FinishReason::kStop;
  double load_seconds = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
  std::optional<double> time_to_first_token;
};

std::string read_prompt(const Arguments& arguments) {
  if (arguments.prompt_given) return arguments.prompt;
  if (isatty(STDIN_FILENO) != 0)
    throw UsageError("no prompt: give -p TEXT, or text on standard input");
  std::string text = read_stdin(text::kMaxTextBytes);
  if (!arguments.no_chat && !text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Outcome generate(engine::LoadedModel& model, const Arguments& arguments, engine::Request request) {
  Outcome outcome;
  const bool stream = !arguments.json;
  const auto start = std::chrono::steady_clock::now();
  std::string error;
  engine::Engine engine(model, {model.plan().options().max_context, 1});
  engine::Listener listener;
  const auto show = [&](std::string_view text) {
    outcome.text += text;
    if (stream && !text.empty()) {
      write_stdout(text);
      flush_stdout();
    }
  };
  listener.on_token = [&](const engine::TokenInfo& token) {
    if (outcome.tokens.empty()) {
      outcome.prompt_seconds = since(start);
      outcome.time_to_first_token = engine::seconds_since_start();
    }
    outcome.tokens.push_back(token.token);
    if (token.log_probabilities != nullptr) {
      outcome.log_probabilities.push_back(*token.log_probabilities);
    }
    show(token.text);
  };
  listener.on_finish = [&](engine::FinishReason reason, std::string_view text,
                           std::string_view why) {
    outcome.reason = reason;
    error = why;
    show(text);
  };
  const engine::RequestId id = engine.submit(std::move(request), std::move(listener));
  const InterruptGuard guard;
  bool interrupted = false;
  do {
    interrupted = guard.interrupted();
    if (interrupted) engine.cancel(id);
  } while (engine.step());
  if (outcome.tokens.empty()) outcome.prompt_seconds = since(start);
  outcome.decode_seconds = since(start) - outcome.prompt_seconds;
  if (stream) print("\n");
  if (outcome.reason == engine::FinishReason::kError) {
    throw_internal("{}: {}", model.checkpoint().path, error);
  }
  if (interrupted) throw Interrupted{};
  return outcome;
}

// Tokens per second, where there was anything to measure.
std::optional<double> rate(size_t tokens, double seconds) {
  if (tokens == 0 || seconds <= 0) return std::nullopt;
  return static_cast<double>(tokens) / seconds;
}

std::string shown(std::optional<double> value, double unit = 1, int digits = 1) {
  return value ? fmt::format("{:.{}f}", *value / unit, digits) : "–";
}

template <class T>
nlohmann::ordered_json or_null(std::optional<T> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json log_probability_json(const text::Tokenizer& tokenizer, int32_t token,
                                            double log_probability) {
  return {{"token", token}, {"text", tokenizer.token_bytes(token)}, {"logprob", log_probability}};
}

nlohmann::ordered_json log_probabilities_json(const text::Tokenizer& tokenizer,
                                              const Outcome& outcome) {
  auto out = nlohmann::ordered_json::array();
  for (size_t i = 0; i < outcome.log_probabilities.size(); ++i) {
    const engine::LogProbabilities& of_token = outcome.log_probabilities[i];
    auto top = nlohmann::ordered_json::array();
    for (const auto& [token, log_probability] : of_token.likeliest) {
      top.push_back(log_probability_json(tokenizer, token, log_probability));
    }
    out.push_back(log_probability_json(tokenizer, outcome.tokens[i], of_token.chosen));
    out.back()["top_logprobs"] = std::move(top);
  }
  return out;
}

void report(const engine::LoadedModel& model, const Arguments& arguments, size_t prompt_tokens,
            const Outcome& outcome) {
  const size_t decoded = outcome.tokens.empty() ? 0 : outcome.tokens.size() - 1;
  const std::optional<double> prompt_rate = rate(prompt_tokens, outcome.prompt_seconds);
  const std::optional<double> decode_rate = rate(decoded, outcome.decode_seconds);
  const std::optional<uint64_t> peak = engine::peak_resident_bytes();
  if (arguments.json) {
    nlohmann::ordered_json out = {
        {"text", outcome.text},
        {"tokens", outcome.tokens},
        {"finish_reason", engine::finish_reason_name(outcome.reason)},
        {"seed", arguments.request.sampling.seed},
        {"prompt_tokens", prompt_tokens},
        {"generated_tokens", outcome.tokens.size()},
        {"load_seconds", outcome.load_seconds},
        {"prompt_tokens_per_second", or_null(prompt_rate)},
        {"decode_tokens_per_second", or_null(decode_rate)},
        {"time_to_first_token_seconds", or_null(outcome.time_to_first_token)},
        {"peak_resident_bytes", or_null(peak)},
        {"threads", model.threads()},
        {"isa", isa_name(model.isa())}};
    if (arguments.request.log_probabilities) {
      out["logprobs"] = log_probabilities_json(model.tokenizer(), outcome);
    }
    using Json = nlohmann::ordered_json;
    print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print(
      stderr,
      "\nprompt {} tokens, {}/s · answer {} tokens, {}/s ({}) · first token {} s after start, "
      "loading {:.2f} s of it · peak memory {} MiB · {} threads, {}\n",
      prompt_tokens, shown(prompt_rate), outcome.tokens.size(), shown(decode_rate),
      engine::finish_reason_name(outcome.reason), shown(outcome.time_to_first_token, 1, 2),
      outcome.load_seconds, shown(peak, 1 << 20, 0), model.threads(), isa_name(model.isa()));
}

// What is wrong with options is found before anything is loaded.
void check_options(const Arguments& arguments) {
  if (arguments.request.log_probabilities && !arguments.json) {
    throw UsageError("--logprobs: only --json has a place for them");
  }
  if (!arguments.system.empty() && (arguments.no_chat || arguments.ids)) {
    throw UsageError(fmt::format("--system: there is no chat with {}",
                                 arguments.no_chat ? "--no-chat" : "--prompt-ids"));
  }
}

void run(Arguments& arguments) {
  check_options(arguments);
  arguments.request.sampling = sampling_params(arguments.sampling);
  const std::string prompt = read_prompt(arguments);
  engine::ModelOptions options = model_options(arguments.model);
  options.plan.max_rows = arguments.chunk;
  options.plan.max_sampled = 1;
  const auto start = std::chrono::steady_clock::now();
  engine::LoadedModel model(arguments.model.path, options, terminal_progress("Loading"));
  const double load_seconds = since(start);
  engine::Request request = arguments.request;
  if (arguments.ids) {
    request.tokens = parse_token_ids(prompt, "prompt");
  } else if (arguments.no_chat) {
    request.tokens = model.tokenizer().encode(prompt);
  } else {
    request.tokens = engine::chat_tokens(model, arguments.system, prompt);
  }
  if (model.plan().options().max_context < arguments.model.context && arguments.context_given) {
    fmt::print(stderr, "adze: --context {}: the model was made for {} tokens\n",
               arguments.model.context, model.plan().options().max_context);
  }
  const size_t prompt_tokens = request.tokens.size();
  Outcome outcome = generate(model, arguments, std::move(request));
  outcome.load_seconds = load_seconds;
  report(model, arguments, prompt_tokens, outcome);
}

void add_request_options(CLI::App& command, Arguments& arguments) {
  command.add_option("-n,--max-tokens", arguments.request.max_tokens, "Tokens to generate at most")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  add_sampling_options(command, arguments.sampling);
  command
      .add_option("--logprobs", arguments.request.log_probabilities,
                  "With --json: log-probabilities of each token and of this many likeliest ones")
      ->transform(kWholeNumber)
      ->check(CLI::Range(0, engine::kMaxLogProbabilities));
  command.add_option("--stop", arguments.request.stop, "End before this text; may be repeated")
      ->allow_extra_args(false)
      ->check(kNotEmpty);
  command.add_flag("--ignore-eos", arguments.request.ignore_end,
                   "Go on after the end of the answer");
}

}  // namespace

void register_run(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("run", "Answer a prompt, streaming the text");
  add_model_options(*command, arguments->model);
  CLI::Option* prompt =
      command->add_option("-p,--prompt", arguments->prompt, "The prompt (default: standard input)");
  command->add_option("--system", arguments->system, "System message of the chat");
  command->add_flag("--no-chat", arguments->no_chat, "Continue the text; no chat template");
  command->add_flag("--prompt-ids", arguments->ids, "The prompt is token ids, separated by blanks");
  command->add_flag("--json", arguments->json, "One JSON object with text, tokens and statistics");
  command->add_option("--chunk", arguments->chunk, "Prompt tokens per run")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  add_request_options(*command, *arguments);
  command->footer(
      "Examples:\n"
      "  adze run -m model.gguf -p \"Why is the sky blue?\"\n"
      "  adze run -m model.gguf -p \"Once upon a time\" --no-chat -n 64 --temp 0\n"
      "  echo \"Name three rivers.\" | adze run -m model.gguf --json");
  const CLI::Option* context = command->get_option("--context");
  command->callback([arguments, prompt, context] {
    arguments->prompt_given = prompt->count() > 0;
    arguments->context_given = context->count() > 0;
    run(*arguments);
  });
}

}  // namespace adze::cli
