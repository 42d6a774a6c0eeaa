// The beginning of a decoder.
#pragma once

#include "graph/builder.h"

namespace adze::layers {

// The graph's input "tokens" → [tokens, hidden]: their rows of "token_embedding".
graph::ValueId embedded_tokens(graph::Builder& builder);

}  // namespace adze::layers
