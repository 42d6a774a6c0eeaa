// Self-attention with rotary positions over a paged cache.
#pragma once

#include <cstdint>
#include <string>

#include "graph/builder.h"

namespace adze::layers {

// How positions turn queries and keys; the meaning of each is ops::RopeSettings'.
struct Rope {
  double theta = 10000.0;
  double factor = 1.0;
  double original_context = 0.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
};

struct AttentionSpec {
  std::string prefix;       // canonical ids: <prefix>.query, .key, .value, .output
  int32_t layer = 0;        // model layer
  int32_t state_group = 0;  // where the layer's keys and values live, and how many of them
  int32_t head_dim = 0;
  int32_t rotary_dim = 0;
  Rope rope;
  double query_scalar = 0;  // scores are divided by its square root
  // Each head of queries and keys goes through an RMS norm before it turns: <prefix>.query_norm,
  // .key_norm.
  bool head_norms = false;
  bool bias = false;        // of all four projections: <prefix>.query_bias, …
  double norm_epsilon = 0;  // of those
};

// x [tokens, hidden] → [tokens, hidden]: projections, rotation, cache write, attention, output
// projection.
graph::ValueId attention(graph::Builder& builder, graph::ValueId x, const AttentionSpec& spec);

}  // namespace adze::layers
