// The Llama family: pre-norm decoder, rotary attention with grouped heads, SwiGLU. SmolLM2 is one
// of them.
#include <string>
#include <vector>

#include "graph/builder.h"
#include "layers/attention.h"
#include "layers/logits.h"
#include "layers/mlp.h"
#include "models/model.h"

namespace adze::models {
namespace {

using graph::Axis;
using graph::ElementType;
using graph::kSymbolic;
using graph::tensor;
using graph::ValueId;

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
                          {.prefix = attention,
                           .layer = layer,
                           .state_group = state_groups[static_cast<size_t>(layer)],
                           .head_dim = config.head_dim,
                           .rotary_dim = config.rotary_dim,
                           .rope = config.rope[static_cast<size_t>(layer)],
                           .query_scalar = config.query_scalar});
    x = builder.apply("add", attention + ".residual", {x, mixed});
    const std::string mlp = "layers." + std::to_string(layer) + ".mlp";
    const ValueId mlp_norm =
        builder.apply("rms_norm", mlp + ".norm", {x}, {tensor(mlp + ".norm")}, epsilon);
    x = builder.apply("add", mlp + ".residual",
                      {x, layers::gated_mlp(builder, mlp_norm, mlp, "silu")});
  }
  layers::logits(builder, x, config.tied_output ? "token_embedding" : "output",
                 config.norm_epsilon);
  return builder.take();
}

const RegisterArchitecture kLlama({"llama", build_llama});

}  // namespace
}  // namespace adze::models
