// Rotation of queries and keys together with the write of keys and values to the cache.
#include "graph/operator.h"
#include "graph/passes/rewrite.h"

namespace adze::graph {
namespace {

// The rope node behind `value`, if only one node reads it.
NodeId rope_behind(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  const bool fits = producer != kNoId && graph.node(producer).op->name == "rope" &&
                    graph.readers(value).size() == 1 && !graph.is_output(value);
  return fits ? producer : kNoId;
}

// The attention that reads the state written by `write`, if it is the only reader.
NodeId attention_after(const Graph& graph, const Node& write) {
  const std::vector<NodeId> readers = graph.readers(write.outputs[0]);
  const bool fits = readers.size() == 1 && graph.node(readers[0]).op->name == "attention";
  return fits ? readers[0] : kNoId;
}

}  // namespace

void fuse_rope_kv_write(const PassContext& context) {
  Graph& graph = context.graph;
  for (const NodeId write : std::vector<NodeId>(graph.order())) {
    const Node node = graph.node(write);
    if (node.op->name != "kv_write") continue;
    const NodeId key_rope = rope_behind(graph, node.inputs[0]);
    const NodeId attention = attention_after(graph, node);
    if (key_rope == kNoId || attention == kNoId) {
      context.rejected(node.name, key_rope == kNoId ? "keys do not come straight from a rope"
                                                    : "the state has several readers");
      continue;
    }
    const NodeId query_rope = rope_behind(graph, graph.node(attention).inputs[0]);
    if (query_rope == kNoId ||
        graph.node(query_rope).attributes != graph.node(key_rope).attributes) {
      context.rejected(node.name, "queries are not rotated the way keys are");
      continue;
    }
    Attributes attributes = graph.node(key_rope).attributes;
    attributes.insert(node.attributes.begin(), node.attributes.end());
    const ValueId query = graph.node(query_rope).inputs[0];
    const ValueId key = graph.node(key_rope).inputs[0];
    // Before the attention: there the queries, the keys and the values are all produced.
    const NodeId fused =
        graph.add_node("rope_kv_write", node.name + "+rope", {query, key, node.inputs[1]}, {},
                       std::move(attributes), context.source, attention);
    Node& result = graph.mutable_node(fused);
    result.origins.clear();
    for (const NodeId id : {query_rope, key_rope, write}) append_origins(result, graph.node(id));
    const ValueId rotated = graph.node(query_rope).outputs[0];
    for (const NodeId id : {write, query_rope, key_rope}) graph.remove(id);
    graph.adopt_output(fused, 0, rotated);
    graph.adopt_output(fused, 1, node.outputs[0]);
    context.changed(result.name);
  }
}

}  // namespace adze::graph
