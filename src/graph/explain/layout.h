// Where the nodes and edges of a drawing go: a layered layout (Sugiyama, Tagawa and Toda, 1981).
// Nodes get ranks by longest paths; edges over several ranks pass through each of them; ranks are
// ordered by barycentres so that edges cross little; positions minimize the squared lengths of
// edges rank by rank, in that order.
#pragma once

#include <cstddef>
#include <vector>

namespace adze::graph {

struct Point {
  double x = 0;
  double y = 0;
};
struct Rectangle {
  double x = 0;  // left
  double y = 0;  // top
  double width = 0;
  double height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct LayoutNode {
  double width = 0;
  double height = 0;
  size_t section = 0;  // sections stand below one another
};
struct LayoutEdge {
  size_t from = 0;
  size_t to = 0;
  bool aside = false;  // runs up or down beside the nodes instead of through the ranks
};

struct Layout {
  std::vector<Rectangle> nodes;
  // An edge through the ranks: pairs of points, curve from the first of a pair to the second, and
  // straight on from there to the next pair. An edge aside: the four corners of its way.
  std::vector<std::vector<Point>> edges;
  std::vector<Rectangle> sections;  // of no height where a section has no node
  double width = 0;
  double height = 0;
};

// Edges that are not aside lead from a node to a later one, and to no earlier section.
// There is a section for each of `section_heads`, the room above the section's nodes.
Layout lay_out(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
               const std::vector<double>& section_heads);

}  // namespace adze::graph
