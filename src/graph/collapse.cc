#include "graph/collapse.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>
#include <system_error>

namespace adze::graph {
namespace {

constexpr std::string_view kPrefixes[] = {"layers.", "layer="};

// A line cut at its layer numbers: text, number, text, number, …, text.
struct Cut {
  std::vector<std::string> texts;
  std::vector<int> numbers;
};

Cut cut(std::string_view line) {
  Cut out;
  size_t from = 0;  // what has not been copied yet
  size_t at = 0;
  while (at < line.size()) {
    const auto rest = line.substr(at);
    const auto* prefix = std::find_if(std::begin(kPrefixes), std::end(kPrefixes),
                                      [&](std::string_view p) { return rest.starts_with(p); });
    int number = 0;
    if (prefix == std::end(kPrefixes)) {
      ++at;
      continue;
    }
    at += prefix->size();
    const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
    if (error != std::errc() || line[at] == '-') continue;
    out.texts.emplace_back(line.substr(from, at - from));
    out.numbers.push_back(number);
    from = at = static_cast<size_t>(end - line.data());
  }
  out.texts.emplace_back(line.substr(from));
  return out;
}

std::string relative(int offset) {
  if (offset == 0) return "i";
  return (offset < 0 ? "i−" : "i+") + std::to_string(std::abs(offset));
}

// The line with `own` for its own layer's first mention.
std::string join(const Cut& line, const std::string& own) {
  std::string out = line.texts.front();
  for (size_t i = 0; i < line.numbers.size(); ++i) {
    out += (i == 0 ? own : relative(line.numbers[i] - line.numbers[0])) + line.texts[i + 1];
  }
  return out;
}

}  // namespace

std::string layer_ranges(const std::vector<int>& layers) {
  std::string out;
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(layers[first]);
    if (last > first) out += "–" + std::to_string(layers[last]);
    first = last + 1;
  }
  return out;
}

LayerPattern layer_pattern(const std::string& line) {
  const Cut parts = cut(line);
  LayerPattern out;
  if (!parts.numbers.empty()) out.layer = parts.numbers.front();
  out.pattern = join(parts, "i");
  return out;
}

std::vector<CollapsedLine> collapse_layers(const std::vector<std::string>& lines) {
  struct Group {
    Cut line;
    std::vector<int> layers;
    int lines = 0;
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> by_pattern;
  for (const std::string& line : lines) {
    Cut parts = cut(line);
    const auto [entry, inserted] = by_pattern.try_emplace(join(parts, "\1"), groups.size());
    if (inserted) groups.push_back({parts, {}, 0});
    Group& group = groups[entry->second];
    if (!parts.numbers.empty()) group.layers.push_back(parts.numbers.front());
    ++group.lines;
  }
  std::vector<CollapsedLine> out;
  for (Group& group : groups) {
    std::sort(group.layers.begin(), group.layers.end());
    group.layers.erase(std::unique(group.layers.begin(), group.layers.end()), group.layers.end());
    if (group.layers.size() > 1) {
      out.push_back({join(group.line, layer_ranges(group.layers)), group.lines});
      continue;
    }
    std::string text = group.line.texts.front();
    for (size_t i = 0; i < group.line.numbers.size(); ++i) {
      text += std::to_string(group.line.numbers[i]) + group.line.texts[i + 1];
    }
    out.push_back({std::move(text), group.lines});
  }
  return out;
}

}  // namespace adze::graph
