// A drawing of the plan in Graphviz's language.
#include <fmt/core.h>

#include "graph/explain.h"
#include "graph/explain/picture.h"
#include "graph/explain/texts.h"

namespace adze::graph {
namespace {

// For a quoted string: backslashes would begin escapes such as \N, the node's own name; "&" would
// begin an entity.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : drawable(text)) {
    if (c == '&') {
      out += "&amp;";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string label_of(const PictureNode& node) {
  std::string label = fmt::format("{}  {}\\l", escaped(node.op), escaped(node.name));
  for (const PictureLine& line : node.lines) {
    const bool output = line.kind == PictureLine::Kind::kOutput;
    label += fmt::format("{}{}\\l", output ? "→ " : "", escaped(line.text));
  }
  return label;
}

}  // namespace

std::string explain_dot(const Explanation& explanation) {
  const Picture picture = make_picture(explanation);
  std::string out =
      "digraph plan {\n"
      "  graph [fontname=\"Helvetica\", labeljust=l, ranksep=0.35, nodesep=0.3];\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10];\n"
      "  edge [color=\"#57606a\", fontname=\"Helvetica\", fontsize=9];\n";
  for (size_t section = 0; section < picture.sections.size(); ++section) {
    const std::string& label = picture.sections[section].label;
    const bool cluster = !label.empty();
    if (cluster) {
      out += fmt::format(
          "  subgraph cluster_{} {{\n"
          "    graph [label=\"{}\", style=\"rounded,filled\", color=\"#d0d7de\", "
          "fillcolor=\"#f6f8fa\"];\n",
          section, escaped(label));
    }
    for (size_t i = 0; i < picture.nodes.size(); ++i) {
      const PictureNode& node = picture.nodes[i];
      if (node.section != section) continue;
      const FamilyStyle& style = style_of(node.family);
      out += fmt::format("{}n{} [label=\"{}\", fillcolor=\"{}\", color=\"{}\"];\n",
                         cluster ? "    " : "  ", i, label_of(node), style.fill, style.line);
    }
    if (cluster) out += "  }\n";
  }
  for (const PictureEdge& edge : picture.edges) {
    out += fmt::format("  n{} -> n{}", edge.from, edge.to);
    if (edge.next_layer) out += " [style=dashed, constraint=false, label=\"next layer\"]";
    if (!edge.label.empty()) out += fmt::format(" [label=\"{}\"]", escaped(edge.label));
    out += ";\n";
  }
  return out + "}\n";
}

}  // namespace adze::graph
