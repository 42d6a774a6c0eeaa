// Repeated layers in text: lines that differ only in their layer's number become one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace adze::graph {

// Lines that are equal once layers are numbered from the line's own (the first "layers.<i>" in it),
// in the order in which the first of each came. A group of one is the line itself; in another,
// the line's own layer is written as a range at first and as `i` after that, others from there:
//   "layers.0-2.mlp.up = linear(layers.i-1.mlp.residual, layers.i.mlp.up)"
// with en dashes in ranges and minus signs before numbers. "layer=<i>" is treated alike.
struct CollapsedLine {
  std::string text;
  int lines = 0;  // how many it stands for
};
std::vector<CollapsedLine> collapse_layers(const std::vector<std::string>& lines);

// A line's own layer, and the line with layers counted from it: "layers.i.mlp.up". Lines that
// collapse into one have equal patterns.
struct LayerPattern {
  std::optional<int> layer;
  std::string pattern;
};
LayerPattern layer_pattern(const std::string& line);

// "0–3,5,7–8" of ascending numbers.
std::string layer_ranges(const std::vector<int>& layers);

}  // namespace adze::graph
