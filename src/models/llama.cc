// The Llama family: pre-norm decoder, rotary attention with grouped heads, SwiGLU. SmolLM2 is one
// of them.
#include <string>
#include <vector>

#include "graph/builder.h"
#include "layers/attention.h"
#include "layers/embedding.h"
#include "layers/logits.h"
#include "layers/mlp.h"
#include "models/model.h"

namespace adze::models {
namespace {

using graph::tensor;
using graph::ValueId;

graph::Graph build_llama(const ModelConfig& config, const graph::WeightSource& weights) {
  graph::Builder builder(weights);
  const auto norm = [&](const std::string& id, ValueId x) {
    return builder.apply("rms_norm", id, {x}, {tensor(id)}, {{"epsilon", config.norm_epsilon}});
  };
  const std::vector<int32_t> state_groups = add_state_groups(config, builder.graph());

  ValueId x = layers::embedded_tokens(builder);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const auto spec = attention_spec(config, layer, state_groups[static_cast<size_t>(layer)]);
    const ValueId mixed = layers::attention(builder, norm(spec.prefix + ".norm", x), spec);
    x = builder.apply("add", spec.prefix + ".residual", {x, mixed});
    const std::string mlp = "layers." + std::to_string(layer) + ".mlp";
    const ValueId fed =
        layers::gated_mlp(builder, norm(mlp + ".norm", x), mlp, "silu", config.mlp_bias);
    x = builder.apply("add", mlp + ".residual", {x, fed});
  }
  layers::logits(builder, x, config.tied_output ? "token_embedding" : "output",
                 config.norm_epsilon);
  return builder.take();
}

const RegisterArchitecture kLlama({"llama", build_llama});

}  // namespace
}  // namespace adze::models
