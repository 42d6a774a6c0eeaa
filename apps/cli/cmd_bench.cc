// `adze bench`: prompt and decode speed, and what share of the machine's limits they are.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/generation.h"
#include "apps/cli/listing.h"
#include "apps/cli/model_options.h"
#include "base/error.h"
#include "engine/process.h"
#include "measure/bench.h"
#include "measure/random_model.h"

namespace adze::cli {
namespace {

struct Arguments {
  ModelArguments model;
  std::string random;
  measure::BenchOptions bench;
  int32_t chunk = 512;
  bool json = false;
};

struct Loading {
  double seconds = 0;
  std::optional<uint64_t> peak_bytes;
};

// A zero leaves the cases out.
void drop_zeros(std::vector<int32_t>& numbers) { std::erase(numbers, 0); }

measure::BenchProgress bench_progress() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](const std::string& name, double done) {
    print_stderr("\r\033[KMeasuring [{:3.0f}%] {}", 100 * done, name);
    std::fflush(stderr);
  };
}

const char* limit_text(const std::string& limit) {
  if (limit == "read") return "of read bandwidth";
  return limit == "int8" ? "of int8 peak" : "of f32 peak";
}

void print_report(const engine::LoadedModel& model, const Loading& loading,
                  const measure::BenchResult& result) {
  const measure::Limits& limits = result.limits;
  print(
      "{} · {} threads, {} · weights {:.0f} MB · {} barriers per step · loading {:.2f} s · peak "
      "memory {} MB\n",
      for_terminal(model.checkpoint().path), model.threads(), isa_name(model.isa()),
      result.work.weight_bytes / 1e6, model.plan().barriers(), loading.seconds,
      shown(loading.peak_bytes, 1e6, 0));
  print(
      "Limits measured: reading {} MB {:.1f} GB/s · int8 {:.2f} TOP/s · float32 {:.2f} "
      "TFLOP/s\n\n",
      limits.read_bytes / 1000000, limits.read_rate / 1e9, limits.int8_rate / 1e12,
      limits.f32_rate / 1e12);
  std::vector<std::vector<std::string>> rows = {
      {"case", "tokens/s", "lowest", "highest", "share of a limit"}};
  for (const measure::CaseResult& row : result.cases) {
    const auto [lowest, highest] = std::minmax_element(row.rates.begin(), row.rates.end());
    rows.push_back({row.name, fmt::format("{:.1f}", row.median()), fmt::format("{:.1f}", *lowest),
                    fmt::format("{:.1f}", *highest),
                    fmt::format("{:.0f}% {}", 100 * row.share, limit_text(row.limit))});
  }
  print_table(rows, 1);
  if (result.operators.empty()) return;
  double all = 0;
  for (const auto& op : result.operators) all += op.seconds;
  std::string shares;
  for (const auto& [op, seconds] : result.operators) {
    shares += fmt::format("{}{} {:.1f}%", shares.empty() ? "" : ", ", op, 100 * seconds / all);
  }
  print("\nTime of {} by operator: {}. Linears do {:.0f}% {} over all but attention.\n",
        result.cases.front().name, shares, 100 * result.share_without_attention,
        limit_text(result.cases.front().limit));
}

nlohmann::ordered_json report_json(const engine::LoadedModel& model, const Loading& loading,
                                   const measure::BenchResult& result) {
  nlohmann::ordered_json out = {{"model", model.checkpoint().path},
                                {"threads", model.threads()},
                                {"isa", isa_name(model.isa())},
                                {"load_seconds", loading.seconds},
                                {"peak_resident_bytes", nullptr},
                                {"barriers", model.plan().barriers()},
                                {"weight_bytes", result.work.weight_bytes},
                                {"operations_per_row", result.work.row_operations},
                                {"operations_per_sampled_row", result.work.sampled_operations},
                                {"limits",
                                 {{"read_bytes", result.limits.read_bytes},
                                  {"read_bytes_per_second", result.limits.read_rate},
                                  {"int8_operations_per_second", result.limits.int8_rate},
                                  {"f32_operations_per_second", result.limits.f32_rate}}}};
  if (loading.peak_bytes) out["peak_resident_bytes"] = *loading.peak_bytes;
  out["cases"] = nlohmann::ordered_json::array();
  for (const measure::CaseResult& row : result.cases) {
    out["cases"].push_back({{"name", row.name},
                            {"tokens_per_second", row.median()},
                            {"repeats", row.rates},
                            {"limit", row.limit},
                            {"share", row.share}});
  }
  out["operators"] = nlohmann::ordered_json::array();
  for (const auto& [op, seconds] : result.operators) {
    out["operators"].push_back({{"op", op}, {"seconds", seconds}});
  }
  out["share_without_attention"] = result.share_without_attention;
  return out;
}

void bench(Arguments& arguments) {
  const bool random = !arguments.random.empty();
  if (random != arguments.model.path.empty()) {
    throw UsageError("give either --model or --random");
  }
  measure::BenchOptions& wanted = arguments.bench;
  for (auto* numbers : {&wanted.prompts, &wanted.decodes, &wanted.depths, &wanted.sequences}) {
    drop_zeros(*numbers);
  }
  engine::ModelOptions options = model_options(arguments.model);
  options.plan.max_rows = std::max(arguments.chunk, measure::most_sequences(wanted));
  options.plan.max_sampled = measure::most_sequences(wanted);
  options.plan.max_context = measure::longest_sequence(wanted);
  const auto start = std::chrono::steady_clock::now();
  engine::LoadedModel model(random ? measure::random_checkpoint(arguments.random)
                                   : checkpoint::open_checkpoint(arguments.model.path),
                            options, terminal_progress("Loading"));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (model.plan().options().max_context < options.plan.max_context) {
    throw_invalid("{}: made for {} tokens, the cases need {}", model.checkpoint().path,
                  model.plan().options().max_context, options.plan.max_context);
  }
  const measure::BenchProgress progress = bench_progress();
  const measure::BenchResult result = measure::run_bench(model, wanted, progress);
  if (progress) print_stderr("\r\033[K");
  const Loading loading{seconds.count(), engine::peak_resident_bytes()};
  if (arguments.json) {
    print_json(report_json(model, loading, result));
  } else {
    print_report(model, loading, result);
  }
}

void add_numbers(CLI::App& command, const std::string& name, std::vector<int32_t>& numbers,
                 const std::string& help, int32_t most) {
  command.add_option(name, numbers, help)
      ->transform(kWholeNumber)
      ->check(CLI::Range(0, most))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
}

}  // namespace

void register_bench(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure prompt and decode speed, and their share of the machine's limits");
  add_model_options(*command, arguments->model);
  command->get_option("--model")->required(false);
  command->remove_option(command->get_option("--context"));
  command
      ->add_option("--random", arguments->random,
                   fmt::format("A model with random weights instead: SHAPE:TYPE with the shapes\n"
                               "{} and the types {}",
                               fmt::join(measure::random_shapes(), ", "),
                               fmt::join(measure::random_types(), ", ")))
      ->type_name("SHAPE:TYPE")
      ->check(kNotEmpty);
  constexpr int32_t kMostTokens = 1 << 20;
  add_numbers(*command, "--prompt", arguments->bench.prompts, "Tokens of prompts; 0: none",
              kMostTokens);
  add_numbers(*command, "--decode", arguments->bench.decodes, "Tokens of answers; 0: none",
              kMostTokens);
  add_numbers(*command, "--depth", arguments->bench.depths,
              "Tokens before an answer of 32 tokens; 0: none", kMostTokens);
  add_numbers(*command, "--sequences", arguments->bench.sequences,
              "Answers of 64 tokens at once; 0: none", 1024);
  command->add_option("--repeats", arguments->bench.repeats, "Runs of each case that count")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--chunk", arguments->chunk, "Prompt tokens per batch")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Write one JSON object, with every repeat");
  command->footer(
      "A figure is the median of the repeats. Shares are of limits that the same threads reach in\n"
      "loops of nothing but reading or multiplying, measured before. Decode reads every weight\n"
      "for each step; a prompt multiplies each with every token.\n"
      "Examples:\n"
      "  adze bench -m model.gguf\n"
      "  adze bench -m model.gguf --prompt 512 --depth 0 --sequences 0\n"
      "  adze bench --random llama-1b:q4_0 --threads 2 --activations int8\n"
      "  ADZE_ISA=avx2 adze bench --random smollm2-135m:q8_0 --json");
  command->callback([arguments] { bench(*arguments); });
}

}  // namespace adze::cli
