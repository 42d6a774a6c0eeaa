// `adze explain`: the graph before and after each pass, the memory plan, the kernels.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/model_options.h"
#include "base/json.h"
#include "graph/explain.h"

namespace adze::cli {
namespace {

struct Arguments {
  ModelArguments model;
  std::string format = "text";
  std::string against;
  int32_t rows = 512;
  bool every_layer = false;
  bool verify = false;
};

std::string report(const Arguments& arguments, const graph::Explanation& explanation,
                   const nlohmann::ordered_json& before) {
  const bool json = arguments.format == "json";
  if (!arguments.against.empty()) {
    const auto difference = graph::explain_difference(before, graph::explain_json(explanation));
    return json ? json_text(difference, 2) + "\n"
                : for_terminal(graph::difference_text(difference, arguments.every_layer));
  }
  if (json) return json_text(graph::explain_json(explanation), 2) + "\n";
  if (arguments.format == "dot") return graph::explain_dot(explanation);
  if (arguments.format == "svg") return graph::explain_svg(explanation);
  return graph::explain_text(explanation, arguments.every_layer);
}

void explain(const Arguments& arguments) {
  nlohmann::ordered_json before;
  if (!arguments.against.empty()) {
    if (arguments.format != "text" && arguments.format != "json") {
      throw UsageError("--against: a difference is written as text or json");
    }
    before = graph::load_explanation(arguments.against);
  }
  engine::ModelOptions options = model_options(arguments.model);
  options.plan.max_rows = arguments.rows;
  options.verify_passes = arguments.verify;
  const engine::LoadedModel model(arguments.model.path, options,
                                  terminal_progress(arguments.verify ? "Verifying" : "Loading"));
  const graph::Explanation explanation{model.declared(), model.passes(), model.pass_checks(),
                                       model.plan(), *model.checkpoint().weights};
  write_stdout(report(arguments, explanation, before));
  flush_stdout();  // the whole report, even if a pass is at fault
  graph::require_kept(model.pass_checks());
}

}  // namespace

void register_explain(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Show what passes, planner and kernel selection did");
  add_model_options(*command, arguments->model);
  command->add_option("--format", arguments->format, "How to write it")
      ->check(CLI::IsMember({"text", "json", "dot", "svg"}))
      ->capture_default_str();
  command
      ->add_option("--against", arguments->against,
                   "What differs from an explanation that --format json wrote to FILE")
      ->type_name("FILE")
      ->check(kNotEmpty);
  command->add_option("--rows", arguments->rows, "Rows of one run that memory is planned for")
      ->transform(kWholeNumber)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_flag(
      "--verify", arguments->verify,
      "Compare logits before and after each pass; exit code 1 where one changes more\n"
      "than it promises. Makes a plan per pass, one at a time");
  command->add_flag("--every-layer", arguments->every_layer,
                    "Text: each layer on its own, not ranges of layers that are alike");
  command->footer(
      "Examples:\n"
      "  adze explain -m model.gguf\n"
      "  adze explain -m model.gguf --verify\n"
      "  adze explain -m model.gguf --activations f32      # why nothing is quantized then\n"
      "  adze explain -m model.gguf --disable-pass fuse_qkv --disable-pass fuse_gate_up\n"
      "  adze explain -m model.gguf --format json | jq '.passes[] | {name, rejections}'\n"
      "  adze explain -m model.gguf --format json | jq '.memory, .weights.by_dtype'\n"
      "  adze explain -m model.gguf --format svg > model.svg\n"
      "  adze explain -m model.gguf --format dot | dot -Tpdf > model.pdf\n"
      "  adze explain -m model.gguf --format json > before.json\n"
      "  adze explain -m model.gguf --disable-pass fuse_qkv --against before.json\n"
      "The fields of the JSON are described in docs/explain.md.");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace adze::cli
