#include "layers/logits.h"

namespace adze::layers {

using graph::tensor;
using graph::ValueId;

void logits(graph::Builder& builder, ValueId x, const std::string& head, double norm_epsilon) {
  const ValueId sampled = builder.apply("gather_sampled", "sampled", {x});
  const ValueId normed = builder.apply("rms_norm", "final_norm", {sampled}, {tensor("final_norm")},
                                       {{"epsilon", norm_epsilon}});
  builder.graph().add_output(builder.apply("linear", "logits", {normed}, {tensor(head)},
                                           {{"axis", std::string("vocab")}}));
}

}  // namespace adze::layers
