#include "layers/mlp.h"

#include "layers/linear.h"

namespace adze::layers {

using graph::ValueId;

ValueId gated_mlp(graph::Builder& builder, ValueId x, const std::string& prefix,
                  std::string_view activation, bool bias) {
  const auto project = [&](const char* what) {
    return linear(builder, x, prefix + "." + what, bias, {{"axis", std::string("ffn")}});
  };
  const ValueId gate = project("gate");
  const ValueId activated = builder.apply(activation, prefix + ".activation", {gate});
  const ValueId up = project("up");
  const ValueId product = builder.apply("multiply", prefix + ".product", {activated, up});
  return linear(builder, product, prefix + ".down", bias);
}

}  // namespace adze::layers
