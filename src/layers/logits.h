// The end of a decoder.
#pragma once

#include <string>

#include "graph/builder.h"

namespace adze::layers {

// x [tokens, hidden] → the graph's output "logits" [sampled, vocab]: the rows that will be sampled,
// through "final_norm" and the canonical weight `head`.
void logits(graph::Builder& builder, graph::ValueId x, const std::string& head,
            double norm_epsilon);

}  // namespace adze::layers
