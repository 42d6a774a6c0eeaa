// `adze explain`: the graph before and after each pass, the memory plan, the kernels.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/model_options.h"
#include "graph/explain.h"

namespace adze::cli {
namespace {

struct Arguments {
  ModelArguments model;
  std::string format = "text";
  int32_t rows = 512;
  int examples = 3;
};

void explain(const Arguments& arguments) {
  engine::ModelOptions options = model_options(arguments.model);
  options.plan.max_rows = arguments.rows;
  const engine::LoadedModel model(arguments.model.path, options, terminal_progress("Loading"));
  const graph::Explanation explanation{model.declared(), model.passes(), model.plan(),
                                       *model.checkpoint().weights};
  if (arguments.format == "json") {
    print("{}\n", graph::explain_json(explanation).dump(2));
  } else {
    print("{}", graph::explain_text(explanation, arguments.examples));
  }
}

}  // namespace

void register_explain(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Show what passes, planner and kernel selection did");
  add_model_options(*command, arguments->model);
  command->add_option("--format", arguments->format, "How to write it")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--rows", arguments->rows, "Rows of one run that memory is planned for")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_option("--examples", arguments->examples, "Changes written out per pass")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  adze explain -m model.gguf\n"
      "  adze explain -m model.gguf --disable-pass fuse_qkv --disable-pass fuse_gate_up\n"
      "  adze explain -m model.gguf --format json | jq .passes");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace adze::cli
