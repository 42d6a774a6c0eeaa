// Short texts that all forms of an explanation share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace adze::graph {

std::string attribute_text(const Attribute& attribute);
// Type, quantization and shape: "int16/576[tokens, hidden=576]", "state".
std::string type_text(const Value& value);
// "6.72 MiB", or bytes where there are few.
std::string size_text(size_t bytes);
// Nodes of all operators together.
int total(const OperatorCounts& counts);
// A text from the model fit for a drawing: of one line, cut where it is long, of characters that
// XML allows; not escaped.
std::string drawable(std::string_view text);
std::string dtype_name(const Weight& weight, const WeightSource& source);

}  // namespace adze::graph
