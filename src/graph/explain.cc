#include "graph/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "graph/collapse.h"
#include "graph/explain/texts.h"
#include "graph/operator.h"

namespace adze::graph {
namespace {

using Json = nlohmann::ordered_json;

Json attribute_json(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return *integer;
  if (const auto* real = std::get_if<double>(&attribute)) return *real;
  return std::get<AttributeText>(attribute).text;
}

std::string counts_text(const OperatorCounts& counts) {
  std::string out;
  for (const auto& [name, count] : counts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name);
  }
  return fmt::format("{} nodes: {}", total(counts), out);
}

// "linear 211 → 151, silu 30 → 0"
std::string difference_text(const OperatorCounts& before, const OperatorCounts& after) {
  std::map<std::string, std::pair<int, int>> both;
  for (const auto& [name, count] : before) both[name].first = count;
  for (const auto& [name, count] : after) both[name].second = count;
  std::string out;
  for (const auto& [name, count] : both) {
    if (count.first == count.second) continue;
    out += fmt::format("{}{} {} → {}", out.empty() ? "" : ", ", name, count.first, count.second);
  }
  return out;
}

template <class Items, class Text>
std::string join(const Items& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

// Expressions that several nodes read, with those nodes: each is packed once.
std::vector<std::pair<std::string, std::vector<std::string>>> shared_weights(const Graph& graph) {
  std::map<std::string, std::vector<std::string>> readers;
  for (const NodeId id : graph.order()) {
    for (const Weight& weight : graph.node(id).weights) {
      std::vector<std::string>& names = readers[weight->text()];
      if (names.empty() || names.back() != graph.node(id).name) {
        names.push_back(graph.node(id).name);
      }
    }
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> shared;
  for (auto& [expression, names] : readers) {
    if (names.size() > 1) shared.emplace_back(expression, std::move(names));
  }
  return shared;
}

int64_t in_place_values(const MemoryPlan& memory) {
  return std::count_if(memory.placements.begin(), memory.placements.end(),
                       [](const auto& placement) { return placement.shares_with != kNoId; });
}

int64_t values_with_bytes(const MemoryPlan& memory) {
  return std::count_if(memory.placements.begin(), memory.placements.end(),
                       [](const auto& placement) { return placement.offset != kNoBuffer; });
}

const PassCheck* find_check(const Explanation& explanation, const PassReport& pass) {
  const auto found = std::find_if(explanation.checks.begin(), explanation.checks.end(),
                                  [&](const PassCheck& check) { return check.pass == pass.name; });
  return found == explanation.checks.end() ? nullptr : &*found;
}

class TextWriter {
 public:
  TextWriter(const Explanation& explanation, bool every_layer)
      : explanation_(explanation), plan_(explanation.plan), every_layer_(every_layer) {}

  std::string write() {
    out_ = "Declared\n  " + counts_text(explanation_.declared) + "\n\nPasses\n";
    for (const PassReport& pass : explanation_.passes) write_pass(pass);
    out_ += "\nPlanned\n  " + counts_text(count_operators(plan_.graph())) + "\n\nNodes\n";
    std::vector<std::string> nodes;
    for (const Partition& partition : plan_.partitions()) {
      for (const NodeId id : partition.nodes) nodes.push_back(node_text(partition, id));
    }
    write_lines("  ", nodes);
    write_memory();
    write_weights();
    out_ += fmt::format("\nOne run takes {} barriers for {} nodes on {}.\n", plan_.barriers(),
                        plan_.graph().order().size(),
                        join(plan_.partitions(), [](const Partition& partition) {
                          return std::string(partition.provider->name());
                        }));
    return std::move(out_);
  }

 private:
  void write_lines(std::string_view label, const std::vector<std::string>& lines) {
    if (every_layer_) {
      for (const std::string& line : lines) out_ += fmt::format("{}{}\n", label, line);
      return;
    }
    for (const CollapsedLine& line : collapse_layers(lines)) {
      out_ += fmt::format("{}{}\n", label, line.text);
    }
  }

  void write_pass(const PassReport& pass) {
    out_ += fmt::format("  {}: {}\n", pass.name, pass.summary);
    if (!pass.enabled) {
      out_ += "      disabled\n";
      return;
    }
    const std::string difference = difference_text(pass.before, pass.after);
    out_ +=
        fmt::format("      {} → {} nodes{}{} in {:.2f} ms; {} changes, {} rejections\n",
                    total(pass.before), total(pass.after), difference.empty() ? "" : ": ",
                    difference, pass.seconds * 1e3, pass.changes.size(), pass.rejections.size());
    write_lines("      made      ", pass.changes);
    std::vector<std::string> rejections;
    rejections.reserve(pass.rejections.size());
    for (const auto& [where, reason] : pass.rejections) {
      rejections.push_back(fmt::format("{}: {}", where, reason));
    }
    write_lines("      rejected  ", rejections);
    const PassCheck* check = find_check(explanation_, pass);
    if (check == nullptr) return;
    out_ += fmt::format("      {}  {}; promised: {}\n", check->holds() ? "verified" : "BROKEN  ",
                        check_text(*check), promise_text(*check));
  }

  std::string node_text(const Partition& partition, NodeId id) const {
    const Graph& graph = plan_.graph();
    const Node& node = graph.node(id);
    std::string out = fmt::format("{}: {}", node.name, node.op->name);
    for (const auto& [name, attribute] : node.attributes) {
      out += fmt::format(" {}={}", name, attribute_text(attribute));
    }
    const auto line = [&](std::string_view label, const std::string& text) {
      if (!text.empty()) out += fmt::format("\n      {:<9} {}", label, text);
    };
    line("reads", join(node.inputs, [&](ValueId input) {
           const auto constant = graph.constant(input);  // often one for all layers
           return constant ? fmt::format("{:g}", *constant) : graph.value(input).name;
         }));
    line("weights", join(node.weights, [&](const Weight& weight) {
           return weight->text() + " " + dtype_name(weight, explanation_.source);
         }));
    line("writes", join(node.outputs, [&](ValueId output) {
           const auto& placement = plan_.memory().placements[static_cast<size_t>(output)];
           return graph.value(output).name + " " + type_text(graph.value(output)) +
                  (placement.shares_with == kNoId
                       ? ""
                       : " in place of " + graph.value(placement.shares_with).name);
         }));
    const std::string kernels = plan_.kernels(id);
    line(partition.provider->name(), kernels.empty() ? "no kernel: a constant" : kernels);
    return out;
  }

  void write_memory() {
    const MemoryPlan& memory = plan_.memory();
    out_ += fmt::format(
        "\nMemory of activations, for runs of at most {} rows and {} sampled rows\n"
        "  {} at peak, in one arena\n"
        "  {} if each value had a buffer of its own: {:.0f} times as much\n"
        "  {} of {} values take over the buffer of an input that dies\n",
        plan_.options().max_rows, plan_.options().max_sampled, size_text(memory.peak_bytes),
        size_text(memory.naive_bytes),
        static_cast<double>(memory.naive_bytes) / static_cast<double>(memory.peak_bytes),
        in_place_values(memory), values_with_bytes(memory));
  }

  void write_weights() {
    out_ += fmt::format("\nPacked weights: {}\n", size_text(plan_.weight_bytes()));
    for (const PackedBytes& entry : plan_.packed_weights()) {
      out_ += fmt::format("  {:<5} {:>11} in {} weight{} as {}\n", dtype_info(entry.dtype).name,
                          size_text(entry.bytes), entry.count, entry.count == 1 ? "" : "s",
                          entry.format);
    }
    for (const auto& [expression, readers] : shared_weights(plan_.graph())) {
      out_ += fmt::format("  {} is packed once for {}\n", expression,
                          join(readers, [](const std::string& name) { return name; }));
    }
  }

  const Explanation& explanation_;
  const Plan& plan_;
  bool every_layer_;
  std::string out_;
};

Json pass_json(const Explanation& explanation, const PassReport& pass) {
  Json entry = {{"name", pass.name},
                {"summary", pass.summary},
                {"exactness", exactness_name(pass.exactness)},
                {"enabled", pass.enabled},
                {"seconds", pass.seconds},
                {"nodes_before", total(pass.before)},
                {"nodes_after", total(pass.after)},
                {"operators_before", pass.before},
                {"operators_after", pass.after},
                {"changes", pass.changes},
                {"rejections", Json::array()}};
  for (const auto& [where, reason] : pass.rejections) {
    entry["rejections"].push_back({{"node", where}, {"reason", reason}});
  }
  if (const PassCheck* check = find_check(explanation, pass)) {
    entry["verification"] = {{"holds", check->holds()},
                             {"bit_identical", check->bit_identical},
                             {"largest_difference", check->largest_difference},
                             {"mean_kl", check->mean_kl},
                             {"mean_kl_limit", check->mean_kl_limit},
                             {"same_best", check->same_best},
                             {"rows", check->rows}};
  }
  return entry;
}

Json output_json(const Explanation& explanation, ValueId output) {
  const Graph& graph = explanation.plan.graph();
  const Value& value = graph.value(output);
  const auto& placement = explanation.plan.memory().placements[static_cast<size_t>(output)];
  Json described = {{"name", value.name},
                    {"type", element_type_name(value.type)},
                    {"shape", to_string(value.shape)},
                    {"bytes", placement.bytes}};
  if (value.quantization_group > 0) {
    described["quantization_bits"] = value.quantization_bits;
    described["quantization_group"] = value.quantization_group;
  }
  if (placement.offset != kNoBuffer) described["offset"] = placement.offset;
  if (placement.shares_with != kNoId) {
    described["in_place_of"] = graph.value(placement.shares_with).name;
  }
  return described;
}

Json node_json(const Explanation& explanation, const Partition& partition, NodeId id) {
  const Graph& graph = explanation.plan.graph();
  const Node& node = graph.node(id);
  Json entry = {{"name", node.name},
                {"operator", node.op->name},
                {"provider", partition.provider->name()},
                {"kernels", explanation.plan.kernels(id)},
                {"origins", node.origins},
                {"attributes", Json::object()},
                {"inputs", Json::array()},
                {"weights", Json::array()},
                {"outputs", Json::array()}};
  for (const auto& [name, attribute] : node.attributes) {
    entry["attributes"][name] = attribute_json(attribute);
  }
  for (const ValueId input : node.inputs) entry["inputs"].push_back(graph.value(input).name);
  for (const Weight& weight : node.weights) {
    entry["weights"].push_back({{"expression", weight->text()},
                                {"dtype", dtype_name(weight, explanation.source)},
                                {"rows", weight->info(explanation.source).rows},
                                {"columns", weight->info(explanation.source).columns}});
  }
  for (const ValueId output : node.outputs) {
    entry["outputs"].push_back(output_json(explanation, output));
  }
  return entry;
}

Json weights_json(const Plan& plan) {
  Json out = {
      {"bytes", plan.weight_bytes()}, {"by_dtype", Json::array()}, {"shared", Json::array()}};
  for (const PackedBytes& entry : plan.packed_weights()) {
    out["by_dtype"].push_back({{"dtype", dtype_info(entry.dtype).name},
                               {"format", entry.format},
                               {"count", entry.count},
                               {"bytes", entry.bytes}});
  }
  for (const auto& [expression, readers] : shared_weights(plan.graph())) {
    out["shared"].push_back({{"expression", expression}, {"nodes", readers}});
  }
  return out;
}

}  // namespace

std::string explain_text(const Explanation& explanation, bool every_layer) {
  return TextWriter(explanation, every_layer).write();
}

Json explain_json(const Explanation& explanation) {
  const Plan& plan = explanation.plan;
  Json out = {{"declared", explanation.declared},
              {"passes", Json::array()},
              {"planned", count_operators(plan.graph())},
              {"nodes", Json::array()}};
  for (const PassReport& pass : explanation.passes) {
    out["passes"].push_back(pass_json(explanation, pass));
  }
  for (const Partition& partition : plan.partitions()) {
    for (const NodeId id : partition.nodes) {
      out["nodes"].push_back(node_json(explanation, partition, id));
    }
  }
  const MemoryPlan& memory = plan.memory();
  out["memory"] = {
      {"max_rows", plan.options().max_rows}, {"max_sampled", plan.options().max_sampled},
      {"peak_bytes", memory.peak_bytes},     {"naive_bytes", memory.naive_bytes},
      {"values", values_with_bytes(memory)}, {"in_place_values", in_place_values(memory)}};
  out["weights"] = weights_json(plan);
  out["barriers_per_run"] = plan.barriers();
  return out;
}

}  // namespace adze::graph
