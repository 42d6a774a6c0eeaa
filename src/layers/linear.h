// A projection, with or without a bias.
#pragma once

#include <string>

#include "graph/builder.h"

namespace adze::layers {

// x [tokens, …] → x·Wᵀ (+ b): W is the canonical weight `id`, b `id`_bias. `attributes` are those
// of the operator linear.
graph::ValueId linear(graph::Builder& builder, graph::ValueId x, const std::string& id, bool bias,
                      graph::Attributes attributes = {});

}  // namespace adze::layers
