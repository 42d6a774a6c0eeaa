// Gemma 3's text models: norms before and after both blocks and on every head of queries and keys,
// layers that see a window between layers that see everything, GeGLU.
#include <cmath>
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

graph::Graph build_gemma3(const ModelConfig& config, const graph::WeightSource& weights) {
  graph::Builder builder(weights);
  const auto norm = [&](const std::string& id, ValueId x) {
    return builder.apply("rms_norm", id, {x}, {tensor(id)}, {{"epsilon", config.norm_epsilon}});
  };
  const std::vector<int32_t> state_groups = add_state_groups(config, builder.graph());

  const ValueId scale =
      builder.constant("embedding.scale", std::sqrt(static_cast<double>(config.hidden)));
  ValueId x =
      builder.apply("multiply", "embedding.scaled", {layers::embedded_tokens(builder), scale});
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    auto spec = attention_spec(config, layer, state_groups[static_cast<size_t>(layer)]);
    spec.head_norms = true;
    spec.norm_epsilon = config.norm_epsilon;
    const ValueId mixed = layers::attention(builder, norm(spec.prefix + ".norm", x), spec);
    x = builder.apply("add", spec.prefix + ".residual",
                      {x, norm(spec.prefix + ".post_norm", mixed)});
    const std::string mlp = "layers." + std::to_string(layer) + ".mlp";
    const ValueId fed = layers::gated_mlp(builder, norm(mlp + ".norm", x), mlp, "gelu_tanh");
    x = builder.apply("add", mlp + ".residual", {x, norm(mlp + ".post_norm", fed)});
  }
  layers::logits(builder, x, config.tied_output ? "token_embedding" : "output",
                 config.norm_epsilon);
  return builder.take();
}

const RegisterArchitecture kGemma3({"gemma3", build_gemma3});

}  // namespace
}  // namespace adze::models
