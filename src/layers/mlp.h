// Gated feed-forward layers.
#pragma once

#include <string>

#include "graph/builder.h"

namespace adze::layers {

// x [tokens, hidden] → [tokens, hidden]: down(silu(gate(x)) · up(x)); canonical ids <prefix>.gate,
// .up, .down.
graph::ValueId gated_mlp(graph::Builder& builder, graph::ValueId x, const std::string& prefix);

}  // namespace adze::layers
