// Writes teacher-forced logits of given token ids as raw float32 [tokens, vocabulary]: what the
// oracle is compared with.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "engine/loaded_model.h"

namespace {

using namespace adze;

struct Arguments {
  std::string model;
  std::string ids;
  std::string out;
  std::string activations = "int16";
  std::string kv_dtype = "bf16";
  std::optional<int32_t> group;
  int32_t chunk = 64;
  engine::ModelOptions options;
};

void run(const Arguments& arguments) {
  engine::ModelOptions options = arguments.options;
  const auto activations = graph::activations_from_name(arguments.activations);
  if (!activations) throw_invalid("--activations: '{}'", arguments.activations);
  options.passes.activations = *activations;
  options.passes.activation_group = arguments.group;
  const auto cache = ops::cache_dtype_from_name(arguments.kv_dtype);
  if (!cache) throw_invalid("--kv-dtype: '{}'", arguments.kv_dtype);
  options.cache_dtype = *cache;
  options.plan.max_rows = options.plan.max_sampled = arguments.chunk;
  engine::LoadedModel model(arguments.model, options);

  std::ifstream input(arguments.ids);
  const std::vector<int32_t> ids{std::istream_iterator<int32_t>(input), {}};
  const size_t blocks = ids.size() / graph::kBlockTokens + 1;
  std::vector<HugeBuffer> caches;  // by state group, as the tables of their blocks
  std::vector<std::vector<std::byte*>> tables;
  for (const graph::StateGroup& group : model.plan().graph().state_groups()) {
    caches.emplace_back(blocks * group.block_bytes());
    std::vector<std::byte*>& table = tables.emplace_back();
    for (size_t i = 0; i < blocks; ++i) {
      table.push_back(caches.back().data() + i * group.block_bytes());
    }
  }

  AtomicFileWriter writer(arguments.out);
  for (size_t first = 0; first < ids.size(); first += static_cast<size_t>(arguments.chunk)) {
    const size_t count = std::min(ids.size() - first, static_cast<size_t>(arguments.chunk));
    graph::BatchSequence sequence;
    sequence.rows = static_cast<int32_t>(count);
    sequence.first_position = static_cast<int32_t>(first);
    sequence.blocks.assign(tables.begin(), tables.end());
    std::vector<int32_t> sampled(count);
    for (size_t i = 0; i < count; ++i) sampled[i] = static_cast<int32_t>(i);
    graph::Batch batch;
    batch.tokens = std::span(ids).subspan(first, count);
    batch.sequences = {&sequence, 1};
    batch.sampled_rows = sampled;
    model.plan().run(batch);
    writer.write(std::as_bytes(model.plan().output()));
  }
  writer.commit();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Teacher-forced logits");
  Arguments arguments;
  app.add_option("-m,--model", arguments.model)->required();
  app.add_option("--ids", arguments.ids)->required();
  app.add_option("--out", arguments.out)->required();
  app.add_option("--activations", arguments.activations);
  app.add_option("--activation-group", arguments.group);
  app.add_option("--kv-dtype", arguments.kv_dtype);
  app.add_option("--threads", arguments.options.threads);
  app.add_option("--chunk", arguments.chunk);
  CLI11_PARSE(app, argc, argv);
  try {
    run(arguments);
    return 0;
  } catch (const adze::Error& error) {
    std::cerr << "adze_logits: " << error.what() << "\n";
    return 1;
  }
}
