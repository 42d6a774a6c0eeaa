#include "apps/cli/model_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "base/error.h"

namespace adze::cli {

namespace {

std::string read_whole_number(std::string& text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const bool only_digits = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  if (!only_digits) return fmt::format("{} is not a whole number", printable(text));
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || (negative && value > 1ull << 62)) {
    return fmt::format("{} is too large", printable(text));
  }
  text = fmt::format("{}{}", negative && value > 0 ? "-" : "", value);
  return {};
}

void check_passes(const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    std::vector<std::string_view> names;
    for (const graph::Pass& pass : graph::passes()) names.push_back(pass.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw UsageError(fmt::format("--disable-pass: no pass is named '{}'; there are: {}",
                                 printable(name), fmt::join(names, ", ")));
  }
}

}  // namespace

const CLI::Validator kNotEmpty(
    [](const std::string& text) {
      return text.empty() ? std::string("an empty text is no value") : std::string();
    },
    "");

const CLI::Validator kWholeNumber(read_whole_number, "");

std::vector<int32_t> parse_token_ids(std::string_view data, std::string_view source) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<int32_t> ids;
  while (true) {
    data.remove_prefix(std::min(data.find_first_not_of(kBlanks), data.size()));
    if (data.empty()) return ids;
    const std::string_view word = data.substr(0, data.find_first_of(kBlanks));
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      throw_invalid("{}: '{}' is not a token id", source, printable(word));
    }
    ids.push_back(id);
    data.remove_prefix(word.size());
  }
}

void add_model_options(CLI::App& command, ModelArguments& a) {
  command
      .add_option(
          "-m,--model", a.path,
          "The model: a .gguf file, a Hugging Face folder, what `adze compile` wrote, or a name\n"
          "that `adze models` lists")
      ->required();
  command.add_option("--threads", a.threads, "Threads; 0: one per CPU")
      ->transform(kWholeNumber)
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--context", a.context,
                  "Tokens of one sequence at most; never more than the model was made for")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      .add_option("--activations", a.activations,
                  "Inputs of quantized linears; int8 is faster and rounds more")
      ->check(CLI::IsMember({"int16", "int8", "f32"}))
      ->capture_default_str();
  command
      .add_option("--activation-group", a.activation_group,
                  "Activations that share a scale; 0: a whole row (default: int16 0, int8 32)")
      ->transform(kWholeNumber)
      ->check(CLI::IsMember({0, 32, 64, 128, 256}));
  command.add_option("--kv-dtype", a.cache_dtype, "Keys and values in the cache")
      ->check(CLI::IsMember({"bf16", "int8", "f32"}))
      ->capture_default_str();
  command
      .add_option("--disable-pass", a.disabled_passes,
                  "A pass to leave out, by the name that `adze explain` shows; may be repeated")
      ->allow_extra_args(false);
}

engine::ModelOptions model_options(const ModelArguments& a) {
  if (a.activation_group && a.activations == "f32") {
    throw UsageError("--activation-group: --activations f32 has no scales");
  }
  check_passes(a.disabled_passes);
  engine::ModelOptions options;
  options.threads = a.threads;
  options.cache_dtype = *ops::cache_dtype_from_name(a.cache_dtype);
  options.passes.activations = *graph::activations_from_name(a.activations);
  options.passes.activation_group = a.activation_group;
  options.passes.disabled.insert(a.disabled_passes.begin(), a.disabled_passes.end());
  options.plan.max_context = a.context;
  return options;
}

graph::LoadProgress terminal_progress(std::string what) {
  if (isatty(STDERR_FILENO) == 0) return {};
  constexpr int kWidth = 30;
  const auto start = std::chrono::steady_clock::now();
  auto shown = std::make_shared<bool>(false);
  return [what = std::move(what), start, shown](size_t done, size_t total) {
    const bool finished = done >= total;
    if (std::chrono::steady_clock::now() - start < std::chrono::seconds(2) && !*shown) return;
    const auto filled = static_cast<size_t>(kWidth) * done / (total == 0 ? 1 : total);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    *shown = true;
    print_stderr("\r{} [{}] {:3}%{}", what, bar, 100 * done / (total == 0 ? 1 : total),
                 finished ? "\r\033[K" : "");
    std::fflush(stderr);
  };
}

}  // namespace adze::cli
