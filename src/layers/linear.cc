#include "layers/linear.h"

#include <utility>

namespace adze::layers {

using graph::tensor;

graph::ValueId linear(graph::Builder& builder, graph::ValueId x, const std::string& id, bool bias,
                      graph::Attributes attributes) {
  const graph::ValueId product =
      builder.apply("linear", id, {x}, {tensor(id)}, std::move(attributes));
  if (!bias) return product;
  const std::string name = id + "_bias";
  return builder.apply("bias", name, {product}, {tensor(name)});
}

}  // namespace adze::layers
