// A drawing of the plan as SVG: the graph on the left; passes, families and sizes on the right.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "graph/explain.h"
#include "graph/explain/layout.h"
#include "graph/explain/picture.h"
#include "graph/explain/texts.h"

namespace adze::graph {
namespace {

constexpr double kMargin = 24;
constexpr double kHeader = 64;       // title and summary
constexpr double kSectionHead = 44;  // label above the nodes of a section
constexpr double kPanelGap = 40;
constexpr double kPanelWidth = 400;
constexpr double kTitleSize = 13;
constexpr double kLineSize = 11;
constexpr double kSmallSize = 10;  // of kernels
constexpr double kLineHeight = 15;
constexpr double kBoxPadding = 10;
constexpr size_t kWrap = 62;   // characters of a line in a node
constexpr double kCorner = 6;  // radius of an edge's corners

// Text for XML.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : drawable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A generous guess: fonts differ.
double text_width(std::string_view text, double size, bool bold = false) {
  return static_cast<double>(count_characters(text)) * size * (bold ? 0.66 : 0.58);
}

// Cut at blanks into lines of at most kWrap characters, but for words that are longer.
std::vector<std::string> wrap(const std::string& text) {
  std::vector<std::string> lines(1);
  size_t from = 0;
  while (from < text.size()) {
    const size_t end = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, end - from);
    const bool fits = count_characters(lines.back()) + count_characters(word) < kWrap;
    if (!fits && !lines.back().empty()) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    from = end + 1;
  }
  return lines;
}

std::string line_class(PictureLine::Kind kind) {
  switch (kind) {
    case PictureLine::Kind::kWeight:
      return "weight";
    case PictureLine::Kind::kOutput:
      return "value";
    case PictureLine::Kind::kKernel:
      return "kernel";
    case PictureLine::Kind::kAttributes:
      break;
  }
  return "attributes";
}

// A node's lines as they are drawn.
struct Box {
  std::vector<std::pair<std::string, std::string>> lines;  // class, text
  double width = 0;
  double height = 0;

  explicit Box(const PictureNode& node) {
    width = text_width(node.op, kTitleSize, true) + 12 + text_width(drawable(node.name), kLineSize);
    for (const PictureLine& line : node.lines) {
      for (std::string& part : wrap(drawable(line.text))) {
        if (line.kind == PictureLine::Kind::kOutput) part.insert(0, "→ ");
        width = std::max(
            width,
            text_width(part, line.kind == PictureLine::Kind::kKernel ? kSmallSize : kLineSize));
        lines.emplace_back(line_class(line.kind), std::move(part));
      }
    }
    width += 2 * kBoxPadding;
    height = 2 * kBoxPadding + kTitleSize + kLineHeight * static_cast<double>(lines.size());
  }
};

constexpr std::string_view kStyle = R"(
  text { font-family: "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif; fill: #1f2328; }
  .heading { font-size: 18px; font-weight: bold; }
  .label { font-size: 13px; font-weight: bold; }
  .op { font-size: 13px; font-weight: bold; }
  .small, .weight, .value, .attributes { font-size: 11px; }
  .value { fill: #57606a; }
  .attributes { font-style: italic; }
  .kernel { font-size: 10px; fill: #6e7781; }
  .quiet { fill: #6e7781; }
  .edge { fill: none; stroke: #57606a; stroke-width: 1.4; }
  .next { fill: none; stroke: #8c959f; stroke-width: 1.4; stroke-dasharray: 5 4; }
  .section { fill: #f6f8fa; stroke: #d0d7de; }
)";

class SvgWriter {
 public:
  explicit SvgWriter(const Explanation& explanation)
      : explanation_(explanation), picture_(make_picture(explanation)) {}

  std::string write() {
    arrange();
    graph_at_ = {kMargin, kMargin + kHeader};
    panel_at_ = {kMargin + layout_.width + kPanelGap, kMargin + kHeader};
    write_sections();
    for (size_t i = 0; i < edges_.size(); ++i) write_edge(i);
    for (size_t i = 0; i < boxes_.size(); ++i) write_node(i);
    write_passes();
    write_legend();
    write_sizes();
    const double width = panel_at_.x + kPanelWidth + kMargin;
    const double height = std::max(graph_at_.y + layout_.height, panel_at_.y) + kMargin;
    return document(width, height);
  }

 private:
  void arrange() {
    std::vector<LayoutNode> nodes;
    for (const PictureNode& node : picture_.nodes) {
      const Box& box = boxes_.emplace_back(node);
      nodes.push_back({box.width, box.height, node.section});
    }
    for (const PictureEdge& edge : picture_.edges) {
      const bool back = edge.from >= edge.to ||
                        picture_.nodes[edge.from].section > picture_.nodes[edge.to].section;
      edges_.push_back({edge.from, edge.to, edge.next_layer || back});
    }
    std::vector<double> heads;
    heads.reserve(picture_.sections.size());
    for (const PictureSection& section : picture_.sections) {
      heads.push_back(section.label.empty() ? 0 : kSectionHead);
    }
    layout_ = lay_out(nodes, edges_, heads);
  }

  std::string document(double width, double height) const {
    const Plan& plan = explanation_.plan;
    const std::string summary =
        fmt::format("{} nodes declared, {} planned for {} rows; {} barriers per run",
                    total(explanation_.declared), plan.graph().order().size(),
                    plan.options().max_rows, plan.barriers());
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<style>{2}</style>\n"
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "
        "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
        "<path d=\"M0 0.5 L8 4 L0 7.5 z\" fill=\"#57606a\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        "<text class=\"heading\" x=\"{3}\" y=\"{4}\">What runs</text>\n"
        "<text class=\"small quiet\" x=\"{3}\" y=\"{5}\">{6}</text>\n{7}</svg>\n",
        width, height, kStyle, kMargin, kMargin + 18, kMargin + 40, xml(summary), out_);
  }

  void text(std::string_view css, double x, double y, std::string_view content,
            std::string_view anchor = "start") {
    out_ +=
        fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                    css, x, y, anchor, xml(content));
  }

  void rectangle(const Rectangle& at, std::string_view attributes) {
    out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n",
                        at.x, at.y, at.width, at.height, attributes);
  }

  void write_sections() {
    for (size_t i = 0; i < picture_.sections.size(); ++i) {
      const std::string& label = picture_.sections[i].label;
      if (label.empty()) continue;
      Rectangle area = layout_.sections[i];
      area.x += graph_at_.x;
      area.y += graph_at_.y;
      rectangle(area, "class=\"section\" rx=\"10\"");
      text("label", area.x + 16, area.y + 24, label);
    }
  }

  void write_node(size_t index) {
    const PictureNode& node = picture_.nodes[index];
    const FamilyStyle& style = style_of(node.family);
    Rectangle area = layout_.nodes[index];
    area.x += graph_at_.x;
    area.y += graph_at_.y;
    out_ += "<g>\n";
    out_ +=
        fmt::format("<title>{}</title>\n",
                    xml(fmt::format("{} {}{}", node.op, node.name,
                                    node.nodes > 1 ? fmt::format(" ({} nodes)", node.nodes) : "")));
    rectangle(area, fmt::format("rx=\"6\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.2\"",
                                style.fill, style.line));
    const double left = area.x + kBoxPadding;
    double y = area.y + kBoxPadding + kTitleSize - 2;
    text("op", left, y, node.op);
    text("small", area.right() - kBoxPadding, y, node.name, "end");
    for (const auto& [css, line] : boxes_[index].lines) text(css, left, y += kLineHeight, line);
    out_ += "</g>\n";
  }

  std::string at(const Point& point) const {
    return fmt::format("{:.1f} {:.1f}", point.x + graph_at_.x, point.y + graph_at_.y);
  }

  void write_edge(size_t index) {
    const std::vector<Point>& points = layout_.edges[index];
    const bool aside = edges_[index].aside;
    const std::string path = aside ? aside_path(points) : rank_path(points);
    out_ += fmt::format("<path class=\"{}\" d=\"{}\" marker-end=\"url(#arrow)\"/>\n",
                        aside ? "next" : "edge", path);
    const std::string& label = picture_.edges[index].label;
    if (label.empty()) return;
    const Point& to = points.back();
    text("kernel", to.x + graph_at_.x + 5, to.y + graph_at_.y - 12, label);
  }

  std::string rank_path(const std::vector<Point>& points) const {
    std::string path = "M" + at(points[0]);
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      const Point& from = points[i];
      const Point& to = points[i + 1];
      if (i % 2 == 1) {
        path += " L" + at(to);  // through a rank
        continue;
      }
      const double middle = (from.y + to.y) / 2;
      path += " C" + at({from.x, middle}) + " " + at({to.x, middle}) + " " + at(to);
    }
    return path;
  }

  std::string aside_path(const std::vector<Point>& points) const {
    const double turn = points[2].y < points[1].y ? -kCorner : kCorner;
    const Point& lower = points[1];
    const Point& upper = points[2];
    return "M" + at(points[0]) + " L" + at({lower.x - kCorner, lower.y}) + " Q" + at(lower) + " " +
           at({lower.x, lower.y + turn}) + " L" + at({upper.x, upper.y - turn}) + " Q" + at(upper) +
           " " + at({upper.x - kCorner, upper.y}) + " L" + at(points[3]);
  }

  void panel_title(std::string_view title) {
    panel_at_.y += 18;
    text("label", panel_at_.x, panel_at_.y, title);
    panel_at_.y += 10;
  }

  // Every pass with the nodes that it leaves, as a bar.
  void write_passes() {
    panel_title("Passes: nodes after each");
    const double most = std::max(1, total(explanation_.declared));
    write_pass_row("declared", total(explanation_.declared), most, "", "#8c959f");
    for (const PassReport& pass : explanation_.passes) {
      if (!pass.enabled) {
        write_pass_row(pass.name, total(pass.after), most, "disabled", "#e5e8eb");
        continue;
      }
      std::string note = fmt::format("{} made", pass.changes.size());
      if (!pass.rejections.empty()) note += fmt::format(", {} left", pass.rejections.size());
      const auto check = std::find_if(explanation_.checks.begin(), explanation_.checks.end(),
                                      [&](const PassCheck& one) { return one.pass == pass.name; });
      if (check != explanation_.checks.end()) note += check->holds() ? ", verified" : ", BROKEN";
      write_pass_row(pass.name, total(pass.after), most, note,
                     pass.changes.empty() ? "#d0d7de" : "#5b8def");
    }
    panel_at_.y += 14;
  }

  void write_pass_row(const std::string& name, int nodes, double most, const std::string& note,
                      std::string_view colour) {
    constexpr double kRow = 32;
    const double y = panel_at_.y + 14;
    text("small", panel_at_.x, y, name);
    text("small quiet", panel_at_.x + kPanelWidth, y, note, "end");
    const double bar = (kPanelWidth - 40) * nodes / most;
    rectangle({panel_at_.x, y + 4, bar, 8}, fmt::format("fill=\"{}\"", colour));
    text("kernel", panel_at_.x + bar + 6, y + 12, std::to_string(nodes));
    panel_at_.y += kRow;
  }

  void write_legend() {
    panel_title("Operators");
    std::vector<Family> families;
    families.reserve(picture_.nodes.size());
    for (const PictureNode& node : picture_.nodes) families.push_back(node.family);
    std::sort(families.begin(), families.end());
    families.erase(std::unique(families.begin(), families.end()), families.end());
    for (const Family family : families) {
      const FamilyStyle& style = style_of(family);
      rectangle({panel_at_.x, panel_at_.y + 4, 22, 12},
                fmt::format("rx=\"3\" fill=\"{}\" stroke=\"{}\"", style.fill, style.line));
      text("small", panel_at_.x + 32, panel_at_.y + 14, style.label);
      panel_at_.y += 20;
    }
    out_ += fmt::format(
        "<path class=\"next\" d=\"M{0:.1f} {1:.1f} h22\" marker-end=\"url(#arrow)\"/>\n",
        panel_at_.x, panel_at_.y + 10);
    text("small", panel_at_.x + 32, panel_at_.y + 14, "into the next layer");
    panel_at_.y += 34;
  }

  void write_sizes() {
    const Plan& plan = explanation_.plan;
    panel_title("Memory");
    const auto row = [&](const std::string& what, const std::string& size) {
      panel_at_.y += 18;
      text("small", panel_at_.x, panel_at_.y, what);
      text("small", panel_at_.x + kPanelWidth, panel_at_.y, size, "end");
    };
    row("activations, in one arena", size_text(plan.memory().peak_bytes));
    row("activations, each in a buffer of its own", size_text(plan.memory().naive_bytes));
    row("packed weights", size_text(plan.weight_bytes()));
    for (const PackedBytes& entry : plan.packed_weights()) {
      row(fmt::format("    {} × {} as {}", entry.count, dtype_info(entry.dtype).name, entry.format),
          size_text(entry.bytes));
    }
  }

  const Explanation& explanation_;
  Picture picture_;
  std::vector<Box> boxes_;
  std::vector<LayoutEdge> edges_;
  Layout layout_;
  Point graph_at_;
  Point panel_at_;  // where the panel goes on
  std::string out_;
};

}  // namespace

std::string explain_svg(const Explanation& explanation) { return SvgWriter(explanation).write(); }

}  // namespace adze::graph
