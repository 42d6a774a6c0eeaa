#include "layers/embedding.h"

namespace adze::layers {

graph::ValueId embedded_tokens(graph::Builder& builder) {
  const graph::ValueId tokens = builder.graph().add_input(
      "tokens", graph::ElementType::kI32, {{graph::Axis::kTokens, graph::kSymbolic}});
  return builder.apply("embedding", "embedding", {tokens}, {graph::tensor("token_embedding")});
}

}  // namespace adze::layers
