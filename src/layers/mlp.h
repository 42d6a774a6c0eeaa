// Gated feed-forward layers.
#pragma once

#include <string>
#include <string_view>

#include "graph/builder.h"

namespace adze::layers {

// x [tokens, hidden] → [tokens, hidden]: down(activation(gate(x)) · up(x)); canonical ids
// <prefix>.gate, .up, .down, with `bias` <prefix>.gate_bias and so on. `activation` is an
// operator's name, one of graph::is_activation().
graph::ValueId gated_mlp(graph::Builder& builder, graph::ValueId x, const std::string& prefix,
                         std::string_view activation, bool bias = false);

}  // namespace adze::layers
