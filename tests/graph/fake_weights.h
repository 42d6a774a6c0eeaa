// Weights by shape, with values that depend on id, row and column.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/weight.h"

namespace adze::graph {

class FakeWeights final : public WeightSource {
 public:
  void add(const std::string& id, DType dtype, int64_t rows, int64_t columns) {
    infos_[id] = {dtype, rows, columns};
  }
  WeightInfo info(const std::string& id) const override {
    const auto found = infos_.find(id);
    if (found == infos_.end()) throw_invalid("no weight {}", id);
    return found->second;
  }
  bool contains(const std::string& id) const override { return infos_.contains(id); }
  // Element (row, column) of an F32 weight is 100 · row + column.
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    const WeightInfo shape = info(id);
    const auto count = out.size() / shape.row_bytes();
    std::vector<float> values(count * static_cast<size_t>(shape.columns));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto columns = static_cast<size_t>(shape.columns);
      const size_t row = static_cast<size_t>(first) + i / columns;
      values[i] = static_cast<float>(row * 100 + i % columns);
    }
    encode(shape.dtype, values, out);
  }

 private:
  std::map<std::string, WeightInfo> infos_;
};

}  // namespace adze::graph
