#include "providers/cpu/packed_weights.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "graph/operator.h"

namespace adze::providers {
namespace {

constexpr int64_t kPanelsPerRead = 8;

// Keeps the first exception of a team's members for the caller.
class FirstError {
 public:
  template <class Work>
  void guard(Work work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

void pack_range(const PackedWeight& packed, const graph::WeightExpression& weight,
                const graph::WeightSource& source, Range panels, std::byte* out) {
  const size_t row_bytes = weight.info(source).row_bytes();
  std::vector<std::byte> staging(static_cast<size_t>(kPanelsPerRead * ops::kPanelRows) * row_bytes);
  const size_t panel_bytes = ops::panel_bytes(packed.format, packed.columns);
  for (int64_t first = panels.begin; first < panels.end; first += kPanelsPerRead) {
    const int64_t last = std::min(panels.end, first + kPanelsPerRead);
    const int64_t first_row = first * ops::kPanelRows;
    const int64_t last_row = std::min(packed.rows, last * ops::kPanelRows);
    const auto rows =
        std::span(staging).first(static_cast<size_t>(last_row - first_row) * row_bytes);
    weight.read_rows(source, first_row, rows);
    for (int64_t panel = first; panel < last; ++panel) {
      const auto begin = static_cast<size_t>(panel - first) * ops::kPanelRows * row_bytes;
      const size_t size = std::min(rows.size() - begin, ops::kPanelRows * row_bytes);
      ops::pack_panel(packed.format, packed.columns, rows.subspan(begin, size),
                      out + static_cast<size_t>(panel) * panel_bytes);
    }
  }
}

size_t align(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

PackedWeights::PackedWeights(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                             const graph::WeightSource& source, ThreadPool& pool,
                             const graph::LoadProgress& progress) {
  std::map<std::string, graph::Weight> pending;
  size_t total = 0;
  for (const graph::NodeId id : nodes) {
    const graph::Node& node = graph.node(id);
    const size_t matrices = node.op->name == "linear"      ? graph::linear_matrices(node).size()
                            : node.op->name == "embedding" ? 1
                                                           : 0;
    for (size_t i = 0; i < node.weights.size(); ++i) {
      const graph::Weight& weight = node.weights[i];
      const std::string key = weight->text();
      const graph::WeightInfo info = weight->info(source);
      if (i >= matrices) {
        std::vector<float>& values = vectors_[key].values;
        vectors_[key].source = info.dtype;
        std::vector<std::byte> encoded(info.bytes());
        weight->read_rows(source, 0, encoded);
        values.resize(static_cast<size_t>(info.columns));
        decode(info.dtype, encoded, values);
      } else if (pending.emplace(key, weight).second) {
        PackedWeight& packed = matrices_[key];
        packed = {ops::packed_format(info.dtype), info.rows, info.columns, nullptr};
        const std::span<const std::byte> ready = source.packed(ops::kPackedLayout, key);
        if (ready.size() == packed.bytes()) {
          packed.panels = ready.data();
        } else if (ready.empty()) {
          total += align(packed.bytes());
        } else {
          throw_invalid("weight {}: {} packed bytes, not {}", printable(key), ready.size(),
                        packed.bytes());
        }
      }
    }
  }
  arena_ = HugeBuffer(total);
  size_t offset = 0;
  for (auto& [key, packed] : matrices_) {
    if (packed.panels != nullptr) continue;
    std::byte* panels_here = arena_.data() + offset;
    packed.panels = panels_here;
    const graph::Weight& weight = pending.at(key);
    FirstError error;
    pool.run([&](int member) {
      error.guard([&] {
        const Range panels = member_range(ops::panel_count(packed.rows), member, pool.size());
        pack_range(packed, *weight, source, panels, panels_here);
      });
    });
    error.rethrow();
    offset += align(packed.bytes());
    if (progress) progress(offset, total);
  }
}

const PackedWeight& PackedWeights::matrix(const graph::Weight& weight) const {
  return matrices_.at(weight->text());
}

std::span<const float> PackedWeights::vector(const graph::Weight& weight) const {
  return vectors_.at(weight->text()).values;
}

std::vector<graph::PackedBytes> PackedWeights::by_dtype() const {
  std::map<std::pair<DType, std::string>, graph::PackedBytes> groups;
  const auto add = [&](DType dtype, std::string format, size_t bytes) {
    graph::PackedBytes& group = groups[{dtype, format}];
    group.dtype = dtype;
    group.format = std::move(format);
    ++group.count;
    group.bytes += bytes;
  };
  for (const auto& [key, packed] : matrices_) {
    add(packed.format.source, packed.format.text(), align(packed.bytes()));
  }
  for (const auto& [key, vector] : vectors_) {
    add(vector.source, "f32 vectors", vector.values.size() * sizeof(float));
  }
  std::vector<graph::PackedBytes> out;
  out.reserve(groups.size());
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  return out;
}

std::vector<graph::PackedMatrix> PackedWeights::matrices() const {
  std::vector<graph::PackedMatrix> out;
  out.reserve(matrices_.size());
  for (const auto& [key, packed] : matrices_) {
    out.push_back({ops::kPackedLayout, key, {packed.panels, packed.bytes()}});
  }
  return out;
}

size_t PackedWeights::bytes() const {
  size_t bytes = 0;
  for (const graph::PackedBytes& group : by_dtype()) bytes += group.bytes;
  return bytes;
}

}  // namespace adze::providers
