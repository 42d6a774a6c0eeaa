#include "layers/mlp.h"

namespace adze::layers {

using graph::tensor;
using graph::ValueId;

ValueId gated_mlp(graph::Builder& builder, ValueId x, const std::string& prefix,
                  std::string_view activation) {
  const auto project = [&](const char* what) {
    const std::string id = prefix + "." + what;
    return builder.apply("linear", id, {x}, {tensor(id)}, {{"axis", std::string("ffn")}});
  };
  const ValueId gate = project("gate");
  const ValueId activated = builder.apply(activation, prefix + ".activation", {gate});
  const ValueId up = project("up");
  const ValueId product = builder.apply("multiply", prefix + ".product", {activated, up});
  return builder.apply("linear", prefix + ".down", {product}, {tensor(prefix + ".down")});
}

}  // namespace adze::layers
