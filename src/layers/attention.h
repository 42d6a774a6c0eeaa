// Self-attention with rotary positions over a paged cache.
#pragma once

#include <cstdint>
#include <string>

#include "graph/builder.h"

namespace adze::layers {

struct AttentionSpec {
  std::string prefix;       // canonical ids: <prefix>.query, .key, .value, .output
  int32_t layer = 0;        // model layer
  int32_t state_group = 0;  // where the layer's keys and values live
  int32_t head_dim = 0;
  int32_t rotary_dim = 0;
  double rope_theta = 0;
};

// x [tokens, hidden] → [tokens, hidden]: projections, rotation, cache write, attention, output
// projection.
graph::ValueId attention(graph::Builder& builder, graph::ValueId x, const AttentionSpec& spec);

}  // namespace adze::layers
