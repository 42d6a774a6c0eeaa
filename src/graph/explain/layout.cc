#include "graph/explain/layout.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <span>
#include <utility>

namespace adze::graph {
namespace {

constexpr double kNodeGap = 28;   // between neighbours of a rank
constexpr double kRankGap = 34;   // between ranks
constexpr double kLaneGap = 14;   // between edges aside
constexpr double kPadding = 18;   // inside a section's border
constexpr double kPortGap = 22;   // between edges at one side of a node
constexpr double kBendWidth = 6;  // of an edge that passes a rank
constexpr int kOrderSweeps = 24;
constexpr int kPlaceSweeps = 300;  // long chains straighten slowly

// A node, or the place where an edge passes a rank.
struct Item {
  double width = 0;
  double height = 0;
  size_t rank = 0;
  std::vector<size_t> above;  // neighbours in the rank before
  std::vector<size_t> below;
  double x = 0;  // of the middle
};

// The nearest positions to `wanted`, least squares, at which each is `apart[i]` from the one
// before: isotonic regression by pooling neighbours that violate the order.
std::vector<double> separate(const std::vector<double>& wanted, const std::vector<double>& apart) {
  struct Pool {
    double sum;
    double count;
    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  std::vector<size_t> sizes;
  std::vector<double> shift(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    shift[i] = i == 0 ? 0 : shift[i - 1] + apart[i];
    pools.push_back({wanted[i] - shift[i], 1});
    sizes.push_back(1);
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      pools[pools.size() - 2].sum += pools.back().sum;
      pools[pools.size() - 2].count += pools.back().count;
      sizes[sizes.size() - 2] += sizes.back();
      pools.pop_back();
      sizes.pop_back();
    }
  }
  std::vector<double> out;
  for (size_t pool = 0; pool < pools.size(); ++pool) {
    for (size_t i = 0; i < sizes[pool]; ++i) {
      const size_t index = out.size();
      out.push_back(pools[pool].mean() + shift[index]);
    }
  }
  return out;
}

class LayeredLayout {
 public:
  LayeredLayout(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
                const std::vector<double>& section_heads)
      : nodes_(nodes), edges_(edges), section_heads_(section_heads) {}

  Layout make() {
    rank_nodes();
    add_bends();
    order_ranks();
    place_across();
    place_down();
    route();
    frame();
    return std::move(layout_);
  }

 private:
  void rank_nodes() {
    for (const LayoutNode& node : nodes_) items_.push_back({node.width, node.height, 0, {}, {}, 0});
    size_t first = 0;
    for (size_t section = 0; section < section_heads_.size(); ++section) {
      size_t end = first;
      for (size_t node = 0; node < nodes_.size(); ++node) {
        if (nodes_[node].section != section) continue;
        items_[node].rank = first;
        for (const LayoutEdge& edge : edges_) {
          if (edge.aside || edge.to != node) continue;
          assert(edge.from < node && nodes_[edge.from].section <= section);
          items_[node].rank = std::max(items_[node].rank, items_[edge.from].rank + 1);
        }
        end = std::max(end, items_[node].rank + 1);
      }
      first_rank_.push_back(first);
      first = end;
    }
    first_rank_.push_back(first);
    pull_down_sources();
    ranks_.resize(first);
    for (size_t node = 0; node < nodes_.size(); ++node) ranks_[items_[node].rank].push_back(node);
  }

  // What nothing leads to stands right before its first reader, within its section.
  void pull_down_sources() {
    for (size_t node = 0; node < nodes_.size(); ++node) {
      const auto arrives = [&](const LayoutEdge& edge) { return !edge.aside && edge.to == node; };
      if (std::any_of(edges_.begin(), edges_.end(), arrives)) continue;
      size_t latest = first_rank_[nodes_[node].section + 1] - 1;
      bool read = false;
      for (const LayoutEdge& edge : edges_) {
        if (edge.aside || edge.from != node) continue;
        latest = std::min(latest, items_[edge.to].rank - 1);
        read = true;
      }
      if (read) items_[node].rank = std::max(items_[node].rank, latest);
    }
  }

  void add_bends() {
    for (const LayoutEdge& edge : edges_) {
      std::vector<size_t>& path = paths_.emplace_back();
      if (edge.aside) continue;
      path.push_back(edge.from);
      for (size_t rank = items_[edge.from].rank + 1; rank < items_[edge.to].rank; ++rank) {
        path.push_back(items_.size());
        ranks_[rank].push_back(items_.size());
        items_.push_back({kBendWidth, 0, rank, {}, {}, 0});
      }
      path.push_back(edge.to);
      for (size_t i = 1; i < path.size(); ++i) {
        items_[path[i - 1]].below.push_back(path[i]);
        items_[path[i]].above.push_back(path[i - 1]);
      }
    }
  }

  int crossings() const {
    std::vector<size_t> place(items_.size());
    for (const auto& rank : ranks_) {
      for (size_t i = 0; i < rank.size(); ++i) place[rank[i]] = i;
    }
    int count = 0;
    for (const auto& rank : ranks_) {
      std::vector<std::pair<size_t, size_t>> lines;
      for (const size_t item : rank) {
        for (const size_t other : items_[item].below) lines.emplace_back(place[item], place[other]);
      }
      for (size_t a = 0; a < lines.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          const auto& [from, to] = lines[a];
          const auto& [other_from, other_to] = lines[b];
          count += (from < other_from && to > other_to) || (from > other_from && to < other_to);
        }
      }
    }
    return count;
  }

  void order_rank(std::vector<size_t>& rank, bool by_above, const std::vector<double>& place) {
    std::map<size_t, double> barycentre;
    for (const size_t item : rank) {
      const auto& neighbours = by_above ? items_[item].above : items_[item].below;
      double sum = 0;
      for (const size_t other : neighbours) sum += place[other];
      barycentre[item] =
          neighbours.empty() ? place[item] : sum / static_cast<double>(neighbours.size());
    }
    std::stable_sort(rank.begin(), rank.end(),
                     [&](size_t a, size_t b) { return barycentre[a] < barycentre[b]; });
  }

  void order_ranks() {
    std::vector<std::vector<size_t>> best = ranks_;
    int fewest = crossings();
    std::vector<double> place(items_.size());
    const auto number = [&](const std::vector<size_t>& rank) {
      for (size_t i = 0; i < rank.size(); ++i) {
        place[rank[i]] = static_cast<double>(i) - static_cast<double>(rank.size()) / 2;
      }
    };
    for (const auto& rank : ranks_) number(rank);
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < ranks_.size(); ++i) {
        std::vector<size_t>& rank = ranks_[down ? i : ranks_.size() - 1 - i];
        order_rank(rank, down, place);
        number(rank);
      }
      const int now = crossings();
      if (now >= fewest) continue;
      fewest = now;
      best = ranks_;
    }
    ranks_ = best;
  }

  void place_across() {
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < ranks_.size(); ++i) {
        place_rank(ranks_[down ? i : ranks_.size() - 1 - i], sweep == 0);
      }
    }
    for (const auto& path : paths_) straighten(path);
    double left = 0;
    for (const Item& item : items_) left = std::min(left, item.x - item.width / 2);
    for (Item& item : items_) item.x += kPadding - left;
  }

  // All bends of an edge onto one line, its rightmost or else its leftmost, where there is room.
  void straighten(const std::vector<size_t>& path) {
    if (path.size() < 4) return;
    const auto bends = std::span(path).subspan(1, path.size() - 2);
    const auto further_left = [&](size_t a, size_t b) { return items_[a].x < items_[b].x; };
    const auto [leftmost, rightmost] =
        std::minmax_element(bends.begin(), bends.end(), further_left);
    for (const double x : {items_[*rightmost].x, items_[*leftmost].x}) {
      if (!std::all_of(bends.begin(), bends.end(), [&](size_t bend) { return fits(bend, x); })) {
        continue;
      }
      for (const size_t bend : bends) items_[bend].x = x;
      return;
    }
  }

  // Whether an item at `x` keeps its distance from both neighbours.
  bool fits(size_t item, double x) const {
    const std::vector<size_t>& rank = ranks_[items_[item].rank];
    const auto place = std::find(rank.begin(), rank.end(), item);
    const auto apart = [&](size_t other) {
      return (items_[item].width + items_[other].width) / 2 + kNodeGap - 1e-6;
    };
    return (place == rank.begin() || x - items_[place[-1]].x >= apart(place[-1])) &&
           (place + 1 == rank.end() || items_[place[1]].x - x >= apart(place[1]));
  }

  // Each item towards the mean of its neighbours; at first of those above, which alone have places.
  void place_rank(const std::vector<size_t>& rank, bool above_only) {
    std::vector<double> wanted;
    std::vector<double> apart;
    for (size_t i = 0; i < rank.size(); ++i) {
      const Item& item = items_[rank[i]];
      double sum = 0;
      double count = 0;
      for (const auto* neighbours : {&item.above, &item.below}) {
        if (above_only && neighbours == &item.below) continue;
        for (const size_t other : *neighbours) {
          // Chains of nodes and long edges are to be straight; where both meet, the edge bends.
          const double weight = (item.height == 0) == (items_[other].height == 0) ? 8 : 1;
          sum += weight * items_[other].x;
          count += weight;
        }
      }
      wanted.push_back(count == 0 ? item.x : sum / count);
      apart.push_back(i == 0 ? 0 : (items_[rank[i - 1]].width + item.width) / 2 + kNodeGap);
    }
    const auto is_node = [&](size_t item) { return items_[item].height > 0; };
    const auto only = std::find_if(rank.begin(), rank.end(), is_node);
    if (only != rank.end() && std::none_of(only + 1, rank.end(), is_node)) {
      place_beside(static_cast<size_t>(only - rank.begin()), rank, wanted, apart);
      return;
    }
    const std::vector<double> placed = separate(wanted, apart);
    for (size_t i = 0; i < rank.size(); ++i) items_[rank[i]].x = placed[i];
  }

  // A rank with one node: those are the picture's spine, one straight line. Edges that pass it make
  // room.
  void place_beside(size_t spine, const std::vector<size_t>& rank, std::span<const double> wanted,
                    std::span<const double> apart) {
    items_[rank[spine]].x = 0;
    for (size_t i = spine; i-- > 0;) {
      items_[rank[i]].x = std::min(wanted[i], items_[rank[i + 1]].x - apart[i + 1]);
    }
    for (size_t i = spine + 1; i < rank.size(); ++i) {
      items_[rank[i]].x = std::max(wanted[i], items_[rank[i - 1]].x + apart[i]);
    }
  }

  void place_down() {
    double y = 0;
    size_t rank = 0;
    for (size_t section = 0; section < section_heads_.size(); ++section) {
      Rectangle& area = layout_.sections.emplace_back();
      area.y = y;
      const size_t end = first_rank_[section + 1];
      if (rank == end) continue;
      y += section_heads_[section];
      for (; rank < end; ++rank) {
        double height = 0;
        for (const size_t item : ranks_[rank]) height = std::max(height, items_[item].height);
        top_.push_back(y);
        bottom_.push_back(y + height);
        y += height + (rank + 1 < end ? kRankGap : kPadding);
      }
      area.height = y - area.y;
      y += kRankGap;
    }
    layout_.height = std::max(0.0, y - kRankGap);
    for (size_t node = 0; node < nodes_.size(); ++node) {
      const Item& item = items_[node];
      const double middle = (top_[item.rank] + bottom_[item.rank]) / 2;
      layout_.nodes.push_back(
          {item.x - item.width / 2, middle - item.height / 2, item.width, item.height});
    }
  }

  // Where the edges meet a node's upper or lower side: next to one another, in the order of where
  // they come from.
  std::map<size_t, double> ports(size_t node, bool upper) const {
    std::vector<std::pair<double, size_t>> by_place;
    for (size_t edge = 0; edge < edges_.size(); ++edge) {
      const auto& path = paths_[edge];
      if (path.empty() || (upper ? path.back() : path.front()) != node) continue;
      by_place.emplace_back(items_[upper ? path[path.size() - 2] : path[1]].x, edge);
    }
    std::sort(by_place.begin(), by_place.end());
    const auto count = static_cast<double>(by_place.size());
    const double gap = std::min(kPortGap, items_[node].width / (count + 1));
    std::map<size_t, double> out;
    for (size_t i = 0; i < by_place.size(); ++i) {
      out[by_place[i].second] = items_[node].x + (static_cast<double>(i) - (count - 1) / 2) * gap;
    }
    return out;
  }

  void route() {
    layout_.edges.resize(edges_.size());
    std::map<size_t, double> start;
    std::map<size_t, double> end;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      start.merge(ports(node, false));
      end.merge(ports(node, true));
    }
    for (size_t edge = 0; edge < edges_.size(); ++edge) {
      const auto& path = paths_[edge];
      if (path.empty()) continue;
      std::vector<Point>& points = layout_.edges[edge];
      points.push_back({start.at(edge), layout_.nodes[path.front()].bottom()});
      for (size_t i = 1; i + 1 < path.size(); ++i) {
        const Item& bend = items_[path[i]];
        points.push_back({bend.x, top_[bend.rank]});
        points.push_back({bend.x, bottom_[bend.rank]});
      }
      points.push_back({end.at(edge), layout_.nodes[path.back()].y});
    }
  }

  // Edges aside, a lane for each node that they leave; then the borders around everything.
  void frame() {
    double right = 0;
    for (const Item& item : items_) right = std::max(right, item.x + item.width / 2);
    std::map<size_t, double> lanes;
    for (size_t edge = 0; edge < edges_.size(); ++edge) {
      if (!edges_[edge].aside) continue;
      const auto lane = lanes.try_emplace(edges_[edge].from, right + kLaneGap).first;
      right = std::max(right, lane->second);
      const Rectangle& from = layout_.nodes[edges_[edge].from];
      const Rectangle& to = layout_.nodes[edges_[edge].to];
      const double leaves = from.y + from.height * 0.65;
      const double arrives = to.y + to.height * 0.35;
      layout_.edges[edge] = {{from.right(), leaves},
                             {lane->second, leaves},
                             {lane->second, arrives},
                             {to.right(), arrives}};
    }
    layout_.width = right + kPadding;
    for (Rectangle& section : layout_.sections) section.width = layout_.width;
  }

  const std::vector<LayoutNode>& nodes_;
  const std::vector<LayoutEdge>& edges_;
  const std::vector<double>& section_heads_;
  Layout layout_;
  std::vector<Item> items_;                 // the nodes first
  std::vector<std::vector<size_t>> ranks_;  // items from left to right
  std::vector<size_t> first_rank_;          // of each section, and the end
  std::vector<std::vector<size_t>> paths_;  // items of each edge; none aside
  std::vector<double> top_;                 // of each rank
  std::vector<double> bottom_;
};

}  // namespace

Layout lay_out(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
               const std::vector<double>& section_heads) {
  return LayeredLayout(nodes, edges, section_heads).make();
}

}  // namespace adze::graph
