// The Llama family: pre-norm decoder, rotary attention with grouped heads, SwiGLU. SmolLM2 is one
// of them.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "layers/attention.h"
#include "layers/mlp.h"
#include "models/model.h"

namespace adze::models {
namespace {

using graph::Axis;
using graph::ElementType;
using graph::kSymbolic;
using graph::tensor;
using graph::ValueId;

// One group per number of key heads (pruned models have several); the group of each layer.
std::vector<int32_t> add_state_groups(const ModelConfig& config, graph::Graph& graph) {
  std::map<int32_t, graph::StateGroup> by_heads;
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    by_heads[config.kv_heads[static_cast<size_t>(layer)]].layers.push_back(layer);
  }
  std::vector<int32_t> group_of_layer(static_cast<size_t>(config.layers));
  for (auto& [heads, group] : by_heads) {
    group.name = "kv" + std::to_string(heads);
    group.kv_heads = heads;
    group.head_dim = config.head_dim;
    const std::vector<int32_t> members = group.layers;
    const int32_t index = graph.add_state_group(std::move(group));
    for (const int32_t layer : members) group_of_layer[static_cast<size_t>(layer)] = index;
  }
  return group_of_layer;
}

graph::Graph build_llama(const ModelConfig& config, const graph::WeightSource& weights) {
  graph::Builder builder(weights);
  const graph::Attributes epsilon = {{"epsilon", config.norm_epsilon}};
  const std::vector<int32_t> state_groups = add_state_groups(config, builder.graph());

  const ValueId tokens =
      builder.graph().add_input("tokens", ElementType::kI32, {{Axis::kTokens, kSymbolic}});
  ValueId x = builder.apply("embedding", "embedding", {tokens}, {tensor("token_embedding")});
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const std::string attention = "layers." + std::to_string(layer) + ".attention";
    const ValueId attention_norm =
        builder.apply("rms_norm", attention + ".norm", {x}, {tensor(attention + ".norm")}, epsilon);
    const ValueId mixed =
        layers::attention(builder, attention_norm,
                          {attention, layer, state_groups[static_cast<size_t>(layer)],
                           config.head_dim, config.rotary_dim, config.rope_theta});
    x = builder.apply("add", attention + ".residual", {x, mixed});
    const std::string mlp = "layers." + std::to_string(layer) + ".mlp";
    const ValueId mlp_norm =
        builder.apply("rms_norm", mlp + ".norm", {x}, {tensor(mlp + ".norm")}, epsilon);
    x = builder.apply("add", mlp + ".residual", {x, layers::gated_mlp(builder, mlp_norm, mlp)});
  }
  const ValueId sampled = builder.apply("gather_sampled", "sampled", {x});
  const ValueId normed =
      builder.apply("rms_norm", "final_norm", {sampled}, {tensor("final_norm")}, epsilon);
  const ValueId logits = builder.apply("linear", "logits", {normed},
                                       {tensor(config.tied_output ? "token_embedding" : "output")},
                                       {{"axis", std::string("vocab")}});
  builder.graph().add_output(logits);
  return builder.take();
}

const RegisterArchitecture kLlama({"llama", build_llama});

}  // namespace
}  // namespace adze::models
