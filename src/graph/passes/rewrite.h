// What several fusions need to find and to rewrite their nodes.
#pragma once

#include <string>
#include <string_view>

#include "graph/passes/pass.h"

namespace adze::graph {

// The node that produces `value` if its operator is one of a kind, "a linear" for instance, and
// only one node reads the value; else kNoId, with why in `reason`.
NodeId sole_producer(const Graph& graph, ValueId value, bool (*is_kind)(std::string_view op),
                     std::string_view kind, std::string& reason);
inline bool is_linear(std::string_view op) { return op == "linear"; }

// `node` does the work of `other` too.
void append_origins(Node& node, const Node& other);

// Elements that share a scale where integer activations are multiplied with a weight; 0: the weight
// takes float32 rows. Linears whose weights differ in it must not become one node: its input would
// have to suit all of them, and the logits would tell which linears were fused.
int64_t activation_group(const PassOptions& options, const WeightInfo& weight);

}  // namespace adze::graph
