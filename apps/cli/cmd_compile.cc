// `adze compile`: a model as it runs, in one file that processes map and share.
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/listing.h"
#include "apps/cli/model_options.h"
#include "apps/cli/model_store.h"
#include "base/error.h"
#include "engine/compile.h"

namespace adze::cli {
namespace {

struct Arguments {
  std::string in;
  std::string out;
  int threads = 0;
  bool json = false;
};

void compile(const Arguments& arguments) {
  std::error_code ignored;  // what cannot be looked at fails when it is opened
  if (std::filesystem::equivalent(arguments.in, arguments.out, ignored)) {
    throw_invalid("{}: is the model itself: give another name to write to",
                  printable(arguments.out, kMaxPathBytes));
  }
  if (std::filesystem::is_directory(arguments.out, ignored)) {
    throw_invalid("{}: is a folder: give the name of a file",
                  printable(arguments.out, kMaxPathBytes));
  }
  const auto start = std::chrono::steady_clock::now();
  engine::ModelOptions options;
  options.threads = arguments.threads;
  // No answers are wanted: the least that a plan can be made for.
  options.plan = {.max_rows = 1, .max_sampled = 1, .max_context = 1};
  const engine::LoadedModel model(arguments.in, options, terminal_progress("Packing"));
  {
    const InterruptGuard guard;  // so that nothing half-written is left
    const graph::LoadProgress shown = terminal_progress("Writing");
    engine::compile_model(model, arguments.out, [&](size_t done, size_t total) {
      if (guard.interrupted()) throw Interrupted{};
      if (shown) shown(done, total);
    });
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const uint64_t bytes = std::filesystem::file_size(arguments.out);
  const size_t matrices = model.plan().packed_matrices().size();
  if (arguments.json) {
    print_json({{"file", arguments.out},
                {"bytes", bytes},
                {"matrices", matrices},
                {"seconds", seconds.count()}});
    return;
  }
  print("{}: {} bytes, {} packed matrices, in {:.1f} s\n",
        for_terminal(printable(arguments.out, kMaxPathBytes)), grouped(bytes), matrices,
        seconds.count());
}

}  // namespace

void register_compile(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("compile", "Write a model packed, as it runs, for processes to share");
  command
      ->add_option("IN", arguments->in,
                   "The model: a .gguf file, a Hugging Face folder, or a name that `adze models` "
                   "lists")
      ->required()
      ->type_name("");
  command->add_option("OUT", arguments->out, "The file to write; one that is there is replaced")
      ->required()
      ->type_name("")
      ->check(kNotEmpty);
  command->add_option("--threads", arguments->threads, "Threads; 0: one per CPU")
      ->transform(kWholeNumber)
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(
      "OUT takes the place of IN wherever a command has -m: answers are the same bit for bit,\n"
      "nothing is packed at the start, and processes that run OUT share its memory. A program\n"
      "whose packed layout is another says so; then compile IN again.\n"
      "Examples:\n"
      "  adze compile model.gguf model.adze\n"
      "  adze run -m model.adze -p \"Why is the sky blue?\"");
  command->callback([arguments] { compile(*arguments); });
}

}  // namespace adze::cli
