#include "layers/attention.h"

namespace adze::layers {

using graph::Attributes;
using graph::tensor;
using graph::ValueId;

ValueId attention(graph::Builder& builder, ValueId x, const AttentionSpec& spec) {
  const auto project = [&](const char* what, const char* axis) {
    const std::string id = spec.prefix + "." + what;
    return builder.apply("linear", id, {x}, {tensor(id)},
                         {{"axis", std::string(axis)}, {"head_dim", int64_t{spec.head_dim}}});
  };
  const ValueId query = project("query", "heads");
  const ValueId key = project("key", "kv_heads");
  const ValueId value = project("value", "kv_heads");
  const Attributes rope = {{"theta", spec.rope_theta}, {"rotary_dim", int64_t{spec.rotary_dim}}};
  const Attributes place = {{"group", int64_t{spec.state_group}}, {"layer", int64_t{spec.layer}}};
  const ValueId rotated_query =
      builder.apply("rope", spec.prefix + ".query.rope", {query}, {}, rope);
  const ValueId rotated_key = builder.apply("rope", spec.prefix + ".key.rope", {key}, {}, rope);
  const ValueId state =
      builder.apply("kv_write", spec.prefix + ".kv_write", {rotated_key, value}, {}, place);
  const ValueId dim = builder.constant(spec.prefix + ".head_dim", spec.head_dim);
  const ValueId scale = builder.apply("rsqrt", spec.prefix + ".scale", {dim});
  const ValueId mixed = builder.apply("attention", spec.prefix + ".attention",
                                      {rotated_query, state, scale}, {}, place);
  const std::string output = spec.prefix + ".output";
  return builder.apply("linear", output, {mixed}, {tensor(output)});
}

}  // namespace adze::layers
