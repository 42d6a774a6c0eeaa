#include "layers/attention.h"

#include "layers/linear.h"

namespace adze::layers {

using graph::Attributes;
using graph::tensor;
using graph::ValueId;

ValueId attention(graph::Builder& builder, ValueId x, const AttentionSpec& spec) {
  const auto project = [&](const char* what, const char* axis) {
    const std::string id = spec.prefix + "." + what;
    return linear(builder, x, id, spec.bias,
                  {{"axis", std::string(axis)}, {"head_dim", int64_t{spec.head_dim}}});
  };
  ValueId query = project("query", "heads");
  ValueId key = project("key", "kv_heads");
  const ValueId value = project("value", "kv_heads");
  if (spec.head_norms) {
    const Attributes epsilon = {{"epsilon", spec.norm_epsilon}};
    const std::string query_norm = spec.prefix + ".query_norm";
    const std::string key_norm = spec.prefix + ".key_norm";
    query = builder.apply("rms_norm", query_norm, {query}, {tensor(query_norm)}, epsilon);
    key = builder.apply("rms_norm", key_norm, {key}, {tensor(key_norm)}, epsilon);
  }
  const Attributes rope = {{"theta", spec.rope.theta},
                           {"rotary_dim", int64_t{spec.rotary_dim}},
                           {"factor", spec.rope.factor},
                           {"original_context", spec.rope.original_context},
                           {"low_frequency_factor", spec.rope.low_frequency_factor},
                           {"high_frequency_factor", spec.rope.high_frequency_factor}};
  const Attributes place = {{"group", int64_t{spec.state_group}}, {"layer", int64_t{spec.layer}}};
  const ValueId rotated_query =
      builder.apply("rope", spec.prefix + ".query.rope", {query}, {}, rope);
  const ValueId rotated_key = builder.apply("rope", spec.prefix + ".key.rope", {key}, {}, rope);
  const ValueId state =
      builder.apply("kv_write", spec.prefix + ".kv_write", {rotated_key, value}, {}, place);
  const ValueId scalar = builder.constant(spec.prefix + ".query_scalar", spec.query_scalar);
  const ValueId scale = builder.apply("rsqrt", spec.prefix + ".scale", {scalar});
  const ValueId mixed = builder.apply("attention", spec.prefix + ".attention",
                                      {rotated_query, state, scale}, {}, place);
  return linear(builder, mixed, spec.prefix + ".output", spec.bias);
}

}  // namespace adze::layers
