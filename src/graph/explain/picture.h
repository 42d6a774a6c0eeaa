// What a drawing of a plan shows, whatever draws it: nodes and edges, layers that are alike drawn
// once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/explain.h"

namespace adze::graph {

// Operators by what they do to a row; each has a colour.
enum class Family : uint8_t {
  kBoundary,  // inputs and outputs of the graph
  kRows,      // rows looked up or picked
  kNorm,
  kLinear,
  kAttention,  // positions and the cache too
  kElementwise,
  kQuantize,
};
struct FamilyStyle {
  std::string_view label;  // for the legend
  std::string_view fill;   // #rrggbb
  std::string_view line;
};
Family family_of(std::string_view op);
const FamilyStyle& style_of(Family family);

// Lines of a node, top to bottom; the text is from the model and not escaped for anything.
struct PictureLine {
  enum class Kind : uint8_t { kAttributes, kWeight, kOutput, kKernel };
  Kind kind = Kind::kAttributes;
  std::string text;
};

struct PictureNode {
  std::string op;
  std::string name;  // without the layer
  Family family = Family::kBoundary;
  size_t section = 0;
  int nodes = 0;  // of the plan
  std::vector<PictureLine> lines;
};

struct PictureEdge {
  size_t from = 0;
  size_t to = 0;
  bool next_layer = false;  // into a later layer
  std::string label;        // "state" where nothing but an order flows
  friend auto operator<=>(const PictureEdge&, const PictureEdge&) = default;
};

// Sections stand below one another: what comes before the layers, each kind of layer, what comes
// after.
struct PictureSection {
  std::string label;  // "layers 0–29"; empty: outside of layers
};

struct Picture {
  std::vector<PictureSection> sections;
  // In an order in which edges that are not to a later layer lead onwards.
  std::vector<PictureNode> nodes;
  std::vector<PictureEdge> edges;  // each once
};

Picture make_picture(const Explanation& explanation);

}  // namespace adze::graph
