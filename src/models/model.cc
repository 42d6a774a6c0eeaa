#include "models/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace adze::models {
namespace {

// Filled by static initializers, read-only once main has begun.
std::vector<Architecture>& registry() {
  static std::vector<Architecture> architectures;
  return architectures;
}

}  // namespace

RegisterArchitecture::RegisterArchitecture(const Architecture& architecture) {
  registry().push_back(architecture);
}

std::vector<int32_t> add_state_groups(const ModelConfig& config, graph::Graph& graph) {
  std::map<std::pair<int32_t, int32_t>, graph::StateGroup> groups;  // by key heads and window
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const auto i = static_cast<size_t>(layer);
    groups[{config.kv_heads[i], config.window[i]}].layers.push_back(layer);
  }
  std::vector<int32_t> group_of_layer(static_cast<size_t>(config.layers));
  for (auto& [key, group] : groups) {
    const auto [heads, window] = key;
    group.name = fmt::format("kv{}", heads);
    if (window > 0) {
      group.name += fmt::format("-window{}", window);
      group.kind = graph::StateKind::kWindowedKv;
      group.window = window;
      group.sinks = config.sinks;
    }
    group.kv_heads = heads;
    group.head_dim = config.head_dim;
    const std::vector<int32_t> members = group.layers;
    const int32_t index = graph.add_state_group(std::move(group));
    for (const int32_t layer : members) group_of_layer[static_cast<size_t>(layer)] = index;
  }
  return group_of_layer;
}

layers::AttentionSpec attention_spec(const ModelConfig& config, int32_t layer,
                                     int32_t state_group) {
  return {.prefix = fmt::format("layers.{}.attention", layer),
          .layer = layer,
          .state_group = state_group,
          .head_dim = config.head_dim,
          .rotary_dim = config.rotary_dim,
          .rope = config.rope[static_cast<size_t>(layer)],
          .query_scalar = config.query_scalar,
          .bias = config.attention_bias};
}

const Architecture& find_architecture(std::string_view name) {
  for (const Architecture& architecture : registry()) {
    if (architecture.name == name) return architecture;
  }
  throw_unsupported("architecture '{}' is not supported; supported: {}", printable(name),
                    fmt::join(architecture_names(), ", "));
}

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const Architecture& architecture : registry()) names.push_back(architecture.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace adze::models
