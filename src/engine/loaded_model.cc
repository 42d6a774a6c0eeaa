#include "engine/loaded_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "providers/cpu/cpu_provider.h"

namespace adze::engine {
namespace {

// What only the graph knows about is an error that names a node: here it gets the file's name.
template <class Make>
auto naming_file(const std::string& file, Make make) {
  try {
    return make();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(file)) throw;
    throw Error(error.kind(), file + ": " + error.what());
  }
}

}  // namespace

LoadedModel::LoadedModel(const std::filesystem::path& path, const ModelOptions& options,
                         const graph::LoadProgress& progress)
    : LoadedModel(checkpoint::open_checkpoint(path), options, progress) {}

LoadedModel::LoadedModel(checkpoint::Checkpoint checkpoint, const ModelOptions& options,
                         const graph::LoadProgress& progress)
    : checkpoint_(std::move(checkpoint)),
      isa_(options.isa.value_or(select_isa())),
      pool_(options.threads),
      cpu_(providers::make_cpu_provider({isa_, options.cache_dtype})) {
  if (options.sinks < 0) throw_invalid("sinks: {} is below 0", options.sinks);
  checkpoint_.config.sinks = options.sinks;
  const graph::WeightSource& weights = *checkpoint_.weights;
  const std::string& file = checkpoint_.path;
  graph::Graph graph = naming_file(file, [&] {
    return models::find_architecture(checkpoint_.config.architecture)
        .build(checkpoint_.config, weights);
  });
  declared_ = graph::count_operators(graph);
  cpu_->lay_out_state(graph);
  const std::array<graph::Provider*, 1> providers = {cpu_.get()};
  naming_file(file, [&] {
    if (!options.verify_passes) {
      reports_ = graph::run_passes(graph, weights, options.passes);
      return;
    }
    graph::PassVerifier verifier(providers, weights, pool_, progress);
    verifier.start(graph);
    reports_ = graph::run_passes(graph, weights, options.passes,
                                 [&](const graph::Graph& rewritten, const graph::PassReport& pass) {
                                   verifier.check(rewritten, pass);
                                 });
    checks_ = verifier.checks();
  });
  graph::PlanOptions plan = options.plan;
  plan.max_context = std::min(plan.max_context, checkpoint_.config.context_length);
  plan_ = naming_file(file, [&] {
    return std::make_unique<graph::Plan>(std::move(graph), providers, weights, plan, pool_,
                                         progress);
  });
  tokenizer_ = checkpoint_.tokenizer.get();
}

}  // namespace adze::engine
