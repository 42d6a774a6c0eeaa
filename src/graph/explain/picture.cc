#include "graph/explain/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/collapse.h"
#include "graph/explain/texts.h"
#include "graph/operator.h"

namespace adze::graph {
namespace {

struct FamilyOfOperator {
  std::string_view op;
  Family family;
};
constexpr FamilyOfOperator kFamilies[] = {
    {"attention", Family::kAttention},     {"bias", Family::kLinear},
    {"embedding", Family::kRows},          {"gather_sampled", Family::kRows},
    {"kv_write", Family::kAttention},      {"linear", Family::kLinear},
    {"quantize", Family::kQuantize},       {"residual_norm", Family::kNorm},
    {"rms_norm", Family::kNorm},           {"rope", Family::kAttention},
    {"rope_kv_write", Family::kAttention},
};

// "layers.i.mlp.up" without its layer: "mlp.up".
std::string without_layer(const std::string& pattern) {
  constexpr std::string_view kOwn = "layers.i.";
  return pattern.starts_with(kOwn) ? pattern.substr(kOwn.size()) : pattern;
}
std::string short_name(const std::string& name) {
  return without_layer(layer_pattern(name).pattern);
}

class PictureMaker {
 public:
  explicit PictureMaker(const Explanation& explanation)
      : source_(explanation.source), plan_(explanation.plan), graph_(plan_.graph()) {}

  Picture make() {
    find_sections();
    for (const ValueId input : graph_.inputs())
      input_nodes_[input] = add_boundary(input, "input", 0);
    for (const NodeId id : drawn_) place(id);
    for (const NodeId id : drawn_) connect(id);
    for (const ValueId output : graph_.outputs()) {
      const size_t node = add_boundary(output, "output", picture_.sections.size() - 1);
      if (const auto from = source_of(output)) add_edge({*from, node, false, ""});
    }
    picture_.edges.assign(edges_.begin(), edges_.end());
    return std::move(picture_);
  }

 private:
  std::optional<int> layer_of(NodeId id) const { return layer_pattern(graph_.node(id).name).layer; }

  // Everything that is drawn of a node but what it reads.
  std::string signature(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string out = node.op->name + "\n" + layer_pattern(node.name).pattern;
    for (const PictureLine& line : lines_of(id)) out += "\n" + line.text;
    return out;
  }

  // Layers whose nodes are all alike become one section.
  void find_sections() {
    std::map<int, std::string> of_layer;
    std::map<NodeId, bool> behind_layers;  // of the nodes outside of layers
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (std::all_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId output) { return graph_.constant(output).has_value(); })) {
        continue;  // a line of its readers
      }
      drawn_.push_back(id);
      if (const auto layer = layer_of(id)) {
        of_layer[*layer] += signature(id) + "\n\n";
        continue;
      }
      behind_layers[id] = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        const NodeId producer = graph_.value(input).producer;
        return producer != kNoId && (layer_of(producer) || behind_layers[producer]);
      });
    }
    std::map<std::string, size_t> kinds;
    std::vector<std::vector<int>> layers;
    for (const auto& [layer, kind] : of_layer) {
      const auto [entry, inserted] = kinds.try_emplace(kind, layers.size());
      if (inserted) layers.emplace_back();
      layers[entry->second].push_back(layer);
      section_of_layer_[layer] = entry->second + 1;
    }
    picture_.sections.emplace_back();
    for (const std::vector<int>& alike : layers) {
      picture_.sections.push_back(
          {alike.size() == 1
               ? fmt::format("layer {}", alike.front())
               : fmt::format("layers {}: {} alike", layer_ranges(alike), alike.size())});
    }
    picture_.sections.emplace_back();
    for (const auto& [id, behind] : behind_layers) {
      section_of_node_[id] = behind ? picture_.sections.size() - 1 : 0;
    }
  }

  std::vector<PictureLine> lines_of(NodeId id) const {
    using enum PictureLine::Kind;
    const Node& node = graph_.node(id);
    std::vector<PictureLine> lines;
    std::string attributes;
    const auto add_attribute = [&](const std::string& name, const std::string& text) {
      attributes += fmt::format("{}{} {}", attributes.empty() ? "" : ", ", name, text);
    };
    for (const auto& [name, attribute] : node.attributes) {
      if (name != "layer") add_attribute(name, attribute_text(attribute));
    }
    for (const ValueId input : node.inputs) {
      if (const auto constant = graph_.constant(input)) {
        add_attribute(short_name(graph_.value(input).name), fmt::format("{:g}", *constant));
      }
    }
    if (!attributes.empty()) lines.push_back({kAttributes, attributes});
    for (const Weight& weight : node.weights) {
      const WeightInfo info = weight->info(source_);
      lines.push_back({kWeight, fmt::format("{}  {} [{} × {}]", short_name(weight->text()),
                                            dtype_info(info.dtype).name, info.rows, info.columns)});
    }
    for (const ValueId output : node.outputs) {
      const Value& value = graph_.value(output);
      if (value.type != ElementType::kState) lines.push_back({kOutput, type_text(value)});
    }
    const std::string kernels = plan_.kernels(id);
    if (!kernels.empty()) lines.push_back({kKernel, kernels});
    return lines;
  }

  size_t add_boundary(ValueId id, std::string op, size_t section) {
    const Value& value = graph_.value(id);
    picture_.nodes.push_back({std::move(op),
                              value.name,
                              Family::kBoundary,
                              section,
                              0,
                              {{PictureLine::Kind::kOutput, type_text(value)}}});
    return picture_.nodes.size() - 1;
  }

  void place(NodeId id) {
    const Node& node = graph_.node(id);
    const auto layer = layer_of(id);
    const size_t section = layer ? section_of_layer_.at(*layer) : section_of_node_.at(id);
    std::string key = signature(id);
    // Nodes of one layer stay apart even where they are alike.
    key += fmt::format("\n{}", alike_[{layer, key}]++);
    const auto [entry, inserted] =
        by_signature_.try_emplace({section, std::move(key)}, picture_.nodes.size());
    if (inserted) {
      picture_.nodes.push_back({node.op->name, short_name(node.name), family_of(node.op->name),
                                section, 0, lines_of(id)});
    }
    ++picture_.nodes[entry->second].nodes;
    node_of_[id] = entry->second;
  }

  std::optional<size_t> source_of(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoId) return input_nodes_.at(value);
    const auto found = node_of_.find(producer);
    if (found == node_of_.end()) return std::nullopt;  // a constant
    return found->second;
  }

  void connect(NodeId id) {
    for (const ValueId input : graph_.node(id).inputs) {
      const auto from = source_of(input);
      if (!from) continue;
      const NodeId producer = graph_.value(input).producer;
      const bool next = producer != kNoId && layer_of(producer) && layer_of(id) &&
                        layer_of(producer) != layer_of(id);
      const bool state = graph_.value(input).type == ElementType::kState;
      add_edge({*from, node_of_.at(id), next, state ? "state" : ""});
    }
  }

  void add_edge(PictureEdge edge) { edges_.insert(std::move(edge)); }

  const WeightSource& source_;
  const Plan& plan_;
  const Graph& graph_;
  Picture picture_;
  std::vector<NodeId> drawn_;
  std::map<int, size_t> section_of_layer_;
  std::map<NodeId, size_t> section_of_node_;  // outside of layers
  std::map<std::pair<std::optional<int>, std::string>, int> alike_;
  std::map<std::pair<size_t, std::string>, size_t> by_signature_;
  std::map<NodeId, size_t> node_of_;
  std::map<ValueId, size_t> input_nodes_;
  std::set<PictureEdge> edges_;
};

}  // namespace

Family family_of(std::string_view op) {
  for (const FamilyOfOperator& entry : kFamilies) {
    if (entry.op == op) return entry.family;
  }
  return Family::kElementwise;
}

const FamilyStyle& style_of(Family family) {
  static constexpr std::array<FamilyStyle, 7> kStyles = {{
      {"input or output", "#ffffff", "#57606a"},
      {"rows looked up or picked", "#d5f0ee", "#1b7f79"},
      {"norm", "#dcf1dc", "#2e7d32"},
      {"linear", "#dbe9fb", "#2457a6"},
      {"attention, positions, cache", "#fde6cf", "#b45309"},
      {"elementwise", "#ece5f7", "#6b46a8"},
      {"quantize", "#fdf3c4", "#94710a"},
  }};
  return kStyles[static_cast<size_t>(family)];
}

Picture make_picture(const Explanation& explanation) { return PictureMaker(explanation).make(); }

}  // namespace adze::graph
