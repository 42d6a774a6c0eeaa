// `adze run`: a prompt in, streamed text out, statistics at the end.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/chat.h"
#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/conversation.h"
#include "apps/cli/generation.h"
#include "apps/cli/model_options.h"
#include "apps/cli/sampling_options.h"
#include "apps/cli/speculation_options.h"
#include "base/error.h"
#include "base/json.h"
#include "engine/chat.h"
#include "engine/engine.h"
#include "engine/process.h"

namespace adze::cli {
namespace {

// Where nothing else is said, for somebody who can stop it.
constexpr int32_t kChatTokens = 1024;

struct Arguments {
  ModelArguments model;
  std::string prompt;
  bool prompt_given = false;
  bool context_given = false;
  bool max_tokens_given = false;
  std::string system;
  bool no_chat = false;
  bool json = false;
  bool ids = false;
  int32_t chunk = 512;
  engine::Request request;
  SamplingArguments sampling;
  SpeculationArguments speculation;
};

// Where the text to answer comes from.
enum class Source { kArgument, kWholeInput, kLines, kTerminal };

Source source_of(const Arguments& arguments) {
  if (arguments.prompt_given) {
    return arguments.prompt == "-" ? Source::kWholeInput : Source::kArgument;
  }
  const bool chat = !arguments.no_chat && !arguments.ids;
  if (isatty(STDIN_FILENO) == 0) return chat ? Source::kLines : Source::kWholeInput;
  if (!chat) throw UsageError("no prompt: give -p TEXT, or text on standard input");
  if (arguments.json) {
    throw UsageError(
        "--json: a chat on a terminal has none; give -p TEXT, or lines on standard input");
  }
  return Source::kTerminal;
}

std::string read_whole_input(const Arguments& arguments) {
  std::string text = read_stdin(text::kMaxTextBytes);
  if (!arguments.no_chat && !text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The next message: a line that is not blank, and those that follow while they end with a
// backslash.
std::optional<std::string> read_message() {
  std::string message;
  while (std::optional<std::string> line = read_stdin_line(text::kMaxTextBytes)) {
    const bool goes_on = line->ends_with('\\');
    if (goes_on) line->back() = '\n';
    message += *line;
    if (!goes_on && message.find_first_not_of(" \t\r\n") != std::string::npos) return message;
    if (!goes_on) message.clear();
  }
  if (!message.empty()) return message;
  return std::nullopt;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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

void report(const engine::LoadedModel& model, const Arguments& arguments, double load_seconds,
            const Outcome& outcome) {
  const std::optional<uint64_t> peak = engine::peak_resident_bytes();
  if (arguments.json) {
    nlohmann::ordered_json out = {
        {"text", outcome.text},
        {"tokens", outcome.tokens},
        {"finish_reason", engine::finish_reason_name(outcome.reason)},
        {"seed", arguments.request.sampling.seed},
        {"prompt_tokens", outcome.prompt_tokens},
        {"reused_tokens", outcome.reused_tokens},
        {"generated_tokens", outcome.tokens.size()},
        {"load_seconds", load_seconds},
        {"prompt_tokens_per_second", or_null(outcome.prompt_rate())},
        {"decode_tokens_per_second", or_null(outcome.decode_rate())},
        {"time_to_first_token_seconds", or_null(outcome.time_to_first_token)},
        {"proposed_tokens", outcome.proposed_tokens},
        {"accepted_tokens", outcome.accepted_tokens},
        {"peak_resident_bytes", or_null(peak)},
        {"threads", model.threads()},
        {"isa", isa_name(model.isa())}};
    if (arguments.request.log_probabilities) {
      out["logprobs"] = log_probabilities_json(model.tokenizer(), outcome);
    }
    print("{}\n", json_text(out, -1));
    flush_stdout();
    return;
  }
  print_stderr(
      "\nprompt {} tokens, {}/s · answer {} tokens, {}/s ({}){} · first token {} s after start, "
      "loading {:.2f} s of it · peak memory {} MiB · {} threads, {}\n",
      outcome.prompt_tokens, shown(outcome.prompt_rate()), outcome.tokens.size(),
      shown(outcome.decode_rate()), engine::finish_reason_name(outcome.reason),
      speculation_text(outcome), shown(outcome.time_to_first_token, 1, 2), load_seconds,
      shown(peak, 1 << 20, 0), model.threads(), isa_name(model.isa()));
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

Conversation beginning(const Arguments& arguments) {
  if (arguments.system.empty()) return {};
  return {{"system", arguments.system}};
}

// Streams or prints one answer, then its statistics; with Ctrl-C what there is of it.
Outcome answer(engine::Engine& engine, const engine::LoadedModel& model, const Arguments& arguments,
               double load_seconds, engine::Request request) {
  const InterruptGuard guard;
  const bool on_terminal = ::isatty(STDOUT_FILENO) != 0;
  Outcome outcome = generate(engine, model, std::move(request), guard, [&](std::string_view text) {
    if (arguments.json) return;
    write_stdout(on_terminal ? for_terminal(text) : std::string(text));
    flush_stdout();
  });
  if (!arguments.json) {
    print("\n");
    flush_stdout();
  }
  const bool interrupted = guard.interrupted();
  if (!interrupted || arguments.json) report(model, arguments, load_seconds, outcome);
  if (interrupted) throw Interrupted{};
  return outcome;
}

// A chat whose user is a program: each line is a message.
void answer_lines(engine::Engine& engine, const engine::LoadedModel& model,
                  const Arguments& arguments, double load_seconds) {
  Conversation conversation = beginning(arguments);
  while (std::optional<std::string> message = read_message()) {
    conversation.push_back({"user", std::move(*message)});
    engine::Request request = arguments.request;
    request.tokens = engine::chat_tokens(model, conversation);
    const Outcome outcome = answer(engine, model, arguments, load_seconds, std::move(request));
    conversation.push_back({"assistant", outcome.text});
  }
  if (conversation.size() == beginning(arguments).size()) {
    throw_invalid("standard input: no message");
  }
}

void run(Arguments& arguments) {
  check_options(arguments);
  arguments.request.sampling = sampling_params(arguments.sampling);
  const Source source = source_of(arguments);
  SpeculationSetup speculation(arguments.speculation);
  // What is already there is read, and found wanting, before the model is loaded.
  std::string prompt = arguments.prompt;
  if (source == Source::kWholeInput) prompt = read_whole_input(arguments);
  engine::ModelOptions options = model_options(arguments.model);
  options.plan.max_rows = arguments.chunk;
  options.plan.max_sampled = 1 + speculation.rows();
  options.plan.max_rows = std::max(options.plan.max_rows, options.plan.max_sampled);
  const auto start = std::chrono::steady_clock::now();
  engine::LoadedModel model(arguments.model.path, options, terminal_progress("Loading"));
  speculation.load(options);
  const double load_seconds = since(start);
  const int32_t context = model.plan().options().max_context;
  if (context < arguments.model.context && arguments.context_given) {
    print_stderr("adze: --context {}: the model was made for {} tokens\n", arguments.model.context,
                 context);
  }
  if (source == Source::kTerminal) {
    if (!arguments.max_tokens_given) arguments.request.max_tokens = kChatTokens;
    chat_on_terminal(model, {arguments.system, arguments.request, speculation.options()});
    return;
  }
  engine::Engine engine(model, {context, 1, speculation.options()});
  if (source == Source::kLines) {
    answer_lines(engine, model, arguments, load_seconds);
    return;
  }
  engine::Request request = arguments.request;
  if (arguments.ids) {
    request.tokens = parse_token_ids(prompt, "prompt");
  } else if (arguments.no_chat) {
    request.tokens = model.tokenizer().encode(prompt);
  } else {
    Conversation conversation = beginning(arguments);
    conversation.push_back({"user", prompt});
    request.tokens = engine::chat_tokens(model, conversation);
  }
  answer(engine, model, arguments, load_seconds, std::move(request));
}

void add_request_options(CLI::App& command, Arguments& arguments) {
  command
      .add_option("-n,--max-tokens", arguments.request.max_tokens,
                  "Tokens of an answer at most; 1024 in a chat at the terminal, unless given")
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
  CLI::App* command = app.add_subcommand("run", "Chat, or answer a prompt, streaming the text");
  add_model_options(*command, arguments->model);
  CLI::Option* prompt = command->add_option(
      "-p,--prompt", arguments->prompt, "The prompt; -: all of standard input (default: a chat)");
  command->add_option("--system", arguments->system, "System message of the chat");
  command->add_flag("--no-chat", arguments->no_chat, "Continue the text; no chat template");
  command->add_flag("--prompt-ids", arguments->ids, "The prompt is token ids, separated by blanks");
  command->add_flag("--json", arguments->json,
                    "One JSON object per answer, with text, tokens and statistics");
  command->add_option("--chunk", arguments->chunk, "Prompt tokens per run")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  add_request_options(*command, *arguments);
  add_speculation_options(*command, arguments->speculation);
  command->footer(
      "Examples:\n"
      "  adze run -m smollm2-135m-instruct                 # a chat; /help lists its commands\n"
      "  adze run -m model.gguf -p \"Why is the sky blue?\"\n"
      "  adze run -m model.gguf -p \"Once upon a time\" --no-chat -n 64 --temp 0\n"
      "  echo \"Name three rivers.\" | adze run -m model.gguf --json\n"
      "  adze run -m model.gguf -p - < letter.txt\n"
      "  adze run -m model.gguf -p - --speculate lookup < code.txt");
  const CLI::Option* context = command->get_option("--context");
  const CLI::Option* max_tokens = command->get_option("--max-tokens");
  command->callback([arguments, prompt, context, max_tokens] {
    arguments->prompt_given = prompt->count() > 0;
    arguments->context_given = context->count() > 0;
    arguments->max_tokens_given = max_tokens->count() > 0;
    run(*arguments);
  });
}

}  // namespace adze::cli
