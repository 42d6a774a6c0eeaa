#include "checkpoint/names.h"

#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace adze::checkpoint {
namespace {

constexpr std::string_view kLayer = "{}";

std::string with_layer(std::string_view name, int32_t layer) {
  std::string text(name);
  const size_t place = text.find(kLayer);
  if (place != std::string::npos) text.replace(place, kLayer.size(), std::to_string(layer));
  return text;
}

struct Shape {
  int64_t rows;
  int64_t columns;
};

constexpr std::string_view kBias = "_bias";

// As models/model.h lists them; nothing for other ids.
std::optional<Shape> expected_shape(std::string_view id, const models::ModelConfig& config,
                                    size_t layer) {
  if (id.ends_with(kBias)) {
    id.remove_suffix(kBias.size());
    const std::optional<Shape> matrix = expected_shape(id, config, layer);
    if (!matrix) return std::nullopt;
    return Shape{1, matrix->rows};
  }
  const int64_t hidden = config.hidden;
  if (id == "token_embedding" || id == "output") return Shape{config.vocabulary, hidden};
  if (id.ends_with(".query_norm") || id.ends_with(".key_norm")) return Shape{1, config.head_dim};
  if (id.ends_with("norm")) return Shape{1, hidden};
  const int64_t query = int64_t{config.heads[layer]} * config.head_dim;
  const int64_t kv = int64_t{config.kv_heads[layer]} * config.head_dim;
  constexpr std::string_view kLayers = "layers.{}.";
  if (!id.starts_with(kLayers)) return std::nullopt;
  const std::string_view what = id.substr(kLayers.size());
  if (what == "attention.query") return Shape{query, hidden};
  if (what == "attention.key" || what == "attention.value") return Shape{kv, hidden};
  if (what == "attention.output") return Shape{hidden, query};
  if (what == "mlp.gate" || what == "mlp.up") return Shape{config.ffn[layer], hidden};
  if (what == "mlp.down") return Shape{hidden, config.ffn[layer]};
  return std::nullopt;
}

// Canonical ids over the tensors of a file.
class CanonicalWeights final : public graph::WeightSource {
 public:
  CanonicalWeights(std::string file, std::unique_ptr<const graph::WeightSource> tensors,
                   NameTable names)
      : file_(std::move(file)), tensors_(std::move(tensors)), names_(std::move(names)) {}

  graph::WeightInfo info(const std::string& id) const override { return find(id).info(*tensors_); }
  bool contains(const std::string& id) const override { return names_.contains(id); }
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    find(id).read_rows(*tensors_, first, out);
  }
  std::span<const std::byte> packed(std::string_view layout,
                                    const std::string& expression) const override {
    return tensors_->packed(layout, expression);
  }
  void check() const override { tensors_->check(); }

 private:
  const graph::WeightExpression& find(const std::string& id) const {
    const auto found = names_.find(id);
    if (found == names_.end()) throw_invalid("{}: the model has no weight {}", file_, id);
    return *found->second;
  }

  std::string file_;
  std::unique_ptr<const graph::WeightSource> tensors_;
  NameTable names_;
};

}  // namespace

NameTable name_tensors(std::span<const WeightName> weights, const models::ModelConfig& config,
                       const graph::WeightSource& tensors, const std::string& file) {
  NameTable names;
  for (const WeightName& weight : weights) {
    if (weight.id == "output" && config.tied_output) continue;
    const bool per_layer = weight.id.find(kLayer) != std::string_view::npos;
    for (int32_t layer = 0; layer < (per_layer ? config.layers : 1); ++layer) {
      const std::string tensor = with_layer(weight.tensor, layer);
      const graph::WeightInfo info = tensors.info(tensor);
      const auto expected = expected_shape(weight.id, config, static_cast<size_t>(layer));
      if (!expected) throw_invalid("{}: weight {} has no place", file, printable(tensor));
      if (info.rows != expected->rows || info.columns != expected->columns) {
        throw_invalid("{}: tensor {}: {} × {}, expected {} × {}", file, tensor, info.rows,
                      info.columns, expected->rows, expected->columns);
      }
      names.emplace(with_layer(weight.id, layer), graph::tensor(tensor));
    }
  }
  return names;
}

std::unique_ptr<const graph::WeightSource> canonical_weights(
    std::string file, std::unique_ptr<const graph::WeightSource> tensors, NameTable names) {
  return std::make_unique<CanonicalWeights>(std::move(file), std::move(tensors), std::move(names));
}

void refuse_unused_tensors(std::span<const std::string> tensors, const NameTable& names,
                           const std::string& file) {
  std::set<std::string> used;
  for (const auto& [id, weight] : names) {
    for (std::string& source : weight->sources()) used.insert(std::move(source));
  }
  for (const std::string& tensor : tensors) {
    if (!used.contains(tensor)) {
      throw_unsupported("{}: tensor {} has no place in this architecture", file, printable(tensor));
    }
  }
}

}  // namespace adze::checkpoint
