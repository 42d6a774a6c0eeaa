#include "apps/cli/model_options.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "apps/cli/commands.h"

namespace adze::cli {

void add_model_options(CLI::App& command, ModelArguments& a) {
  command.add_option("-m,--model", a.path, "The model: a .gguf file")->required();
  command.add_option("--threads", a.threads, "Threads; 0: one per CPU")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--context", a.context, "Tokens of one sequence at most")
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
    fmt::print(stderr, "\r{} [{}] {:3}%{}", what, bar, 100 * done / (total == 0 ? 1 : total),
               finished ? "\r\033[K" : "");
    std::fflush(stderr);
  };
}

}  // namespace adze::cli
