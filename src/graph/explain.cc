#include "graph/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/operator.h"

namespace adze::graph {
namespace {

using Json = nlohmann::ordered_json;

std::string attribute_text(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&attribute)) return fmt::format("{}", *real);
  return std::get<std::string>(attribute);
}

Json attribute_json(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return *integer;
  if (const auto* real = std::get_if<double>(&attribute)) return *real;
  return std::get<std::string>(attribute);
}

std::string value_text(const Value& value) {
  const std::string group =
      value.quantization_group > 0
          ? fmt::format("{}/{}", value.quantization_bits, value.quantization_group)
          : "";
  return fmt::format("{}: {}{}{}", value.name, element_type_name(value.type), group,
                     value.type == ElementType::kState ? "" : to_string(value.shape));
}

std::string counts_text(const std::map<std::string, int>& counts) {
  int total = 0;
  std::string out;
  for (const auto& [name, count] : counts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name);
    total += count;
  }
  return fmt::format("{} nodes: {}", total, out);
}

// Rejections of a pass by reason, in order of first appearance.
std::vector<std::pair<std::string, std::vector<std::string>>> by_reason(const PassReport& pass) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const PassReport::Rejection& rejection : pass.rejections) {
    auto group = groups.begin();
    while (group != groups.end() && group->first != rejection.reason) ++group;
    if (group == groups.end()) group = groups.insert(groups.end(), {rejection.reason, {}});
    group->second.push_back(rejection.where);
  }
  return groups;
}

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::map<std::string, int> count_operators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.order()) ++counts[graph.node(id).op->name];
  return counts;
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string out;
  for (const ValueId output : node.outputs) {
    out += (out.empty() ? "" : ", ") + value_text(graph.value(output));
  }
  out += " = " + node.op->name + "(";
  std::string separator;
  for (const ValueId input : node.inputs) {
    out += separator + graph.value(input).name;
    separator = ", ";
  }
  for (const Weight& weight : node.weights) {
    out += separator + "W:" + weight->text();
    separator = ", ";
  }
  out += ")";
  for (const auto& [name, attribute] : node.attributes) {
    out += fmt::format(" {}={}", name, attribute_text(attribute));
  }
  return out;
}

std::string explain_text(const Explanation& explanation, int examples) {
  const Graph& graph = explanation.plan.graph();
  std::string out = "Declared: " + counts_text(explanation.before) + "\n\nPasses\n";
  for (const PassReport& pass : explanation.passes) {
    if (!pass.enabled) {
      out += fmt::format("  {:<22} disabled\n", pass.name);
      continue;
    }
    out += fmt::format("  {:<22} {:>4} → {:<4} nodes, {} changes, {:.2f} ms: {}\n", pass.name,
                       pass.nodes_before, pass.nodes_after, pass.changes.size(), pass.seconds * 1e3,
                       pass.summary);
    const auto shown = std::min(pass.changes.size(), static_cast<size_t>(examples));
    for (size_t i = 0; i < shown; ++i) out += fmt::format("      {}\n", pass.changes[i]);
    if (pass.changes.size() > shown) {
      out += fmt::format("      … and {} more\n", pass.changes.size() - shown);
    }
    for (const auto& [reason, nodes] : by_reason(pass)) {
      out += fmt::format("      left alone: {}: {}", nodes.front(), reason);
      out += nodes.size() > 1 ? fmt::format(" (and {} more like it)\n", nodes.size() - 1) : "\n";
    }
  }
  out += "\nPlanned: " + counts_text(count_operators(graph)) + "\n\nNodes\n";
  for (const Partition& partition : explanation.plan.partitions()) {
    for (const NodeId id : partition.nodes) {
      const std::string kernels = explanation.plan.kernels(id);
      out +=
          fmt::format("  {}: {}\n", partition.provider->name(), node_text(graph, graph.node(id)));
      if (!kernels.empty()) out += fmt::format("      {}\n", kernels);
    }
  }
  const MemoryPlan& memory = explanation.plan.memory();
  out += fmt::format(
      "\nMemory for {} rows, {} sampled: {:.2f} MiB of activations at peak, {:.2f} MiB if every "
      "value had its own\nPacked weights: {:.2f} MiB\nBarriers per run: {}\n",
      explanation.plan.options().max_rows, explanation.plan.options().max_sampled,
      mebibytes(memory.peak_bytes), mebibytes(memory.naive_bytes),
      mebibytes(explanation.plan.weight_bytes()), explanation.plan.barriers());
  return out;
}

Json explain_json(const Explanation& explanation) {
  const Graph& graph = explanation.plan.graph();
  Json out;
  out["declared"] = explanation.before;
  for (const PassReport& pass : explanation.passes) {
    Json entry = {{"name", pass.name},
                  {"summary", pass.summary},
                  {"enabled", pass.enabled},
                  {"seconds", pass.seconds},
                  {"nodes_before", pass.nodes_before},
                  {"nodes_after", pass.nodes_after},
                  {"changes", pass.changes},
                  {"rejections", Json::array()}};
    for (const auto& [where, reason] : pass.rejections) {
      entry["rejections"].push_back({{"node", where}, {"reason", reason}});
    }
    out["passes"].push_back(std::move(entry));
  }
  out["planned"] = count_operators(graph);
  const MemoryPlan& memory = explanation.plan.memory();
  for (const Partition& partition : explanation.plan.partitions()) {
    for (const NodeId id : partition.nodes) {
      const Node& node = graph.node(id);
      Json entry = {{"name", node.name},
                    {"operator", node.op->name},
                    {"provider", partition.provider->name()},
                    {"kernels", explanation.plan.kernels(id)},
                    {"origins", node.origins},
                    {"inputs", Json::array()},
                    {"weights", Json::array()},
                    {"outputs", Json::array()}};
      for (const ValueId input : node.inputs) entry["inputs"].push_back(graph.value(input).name);
      for (const Weight& weight : node.weights) {
        entry["weights"].push_back(
            {{"expression", weight->text()},
             {"dtype", dtype_info(weight->info(explanation.source).dtype).name}});
      }
      for (const auto& [name, attribute] : node.attributes) {
        entry["attributes"][name] = attribute_json(attribute);
      }
      for (const ValueId output : node.outputs) {
        const Value& value = graph.value(output);
        const auto& placement = memory.placements[static_cast<size_t>(output)];
        Json described = {{"name", value.name},
                          {"type", element_type_name(value.type)},
                          {"shape", to_string(value.shape)},
                          {"bytes", placement.bytes}};
        if (placement.offset != kNoBuffer) described["offset"] = placement.offset;
        if (placement.shares_with != kNoId) {
          described["in_place_of"] = graph.value(placement.shares_with).name;
        }
        entry["outputs"].push_back(std::move(described));
      }
      out["nodes"].push_back(std::move(entry));
    }
  }
  out["memory"] = {{"max_rows", explanation.plan.options().max_rows},
                   {"max_sampled", explanation.plan.options().max_sampled},
                   {"peak_bytes", memory.peak_bytes},
                   {"naive_bytes", memory.naive_bytes},
                   {"weight_bytes", explanation.plan.weight_bytes()}};
  out["barriers_per_run"] = explanation.plan.barriers();
  return out;
}

}  // namespace adze::graph
