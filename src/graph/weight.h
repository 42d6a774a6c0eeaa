// Weights as a graph refers to them: lazy expressions over the tensors of a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace adze::graph {

// A matrix of `rows` × `columns` elements, row-major; a vector has one row. Rows are whole blocks
// of `dtype`.
struct WeightInfo {
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;

  size_t row_bytes() const;
  size_t bytes() const { return row_bytes() * static_cast<size_t>(rows); }
  friend bool operator==(const WeightInfo&, const WeightInfo&) = default;
};

// Where a checkpoint's tensors come from, by canonical id ("layers.3.attention.query").
// Thread-safe.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Throws Error{kInvalidInput} where the checkpoint has no such tensor.
  virtual WeightInfo info(const std::string& id) const = 0;
  virtual bool contains(const std::string& id) const = 0;
  // Encoded rows [first, first + n) into `out`, n × row_bytes() bytes.
  virtual void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const = 0;
  // A matrix as a provider packs it in the layout of that name, by the text of its expression;
  // valid as long as the source. Nothing where it has to be packed. Throws Error{kUnsupported}
  // where the source has matrices of another layout alone.
  virtual std::span<const std::byte> packed(std::string_view layout,
                                            const std::string& expression) const {
    static_cast<void>(layout);
    static_cast<void>(expression);
    return {};
  }
  // Throws Error{kUnavailable} where what packed() gave can no longer be read.
  virtual void check() const {}
};

class WeightExpression;
using Weight = std::shared_ptr<const WeightExpression>;

// An immutable expression that yields an encoded matrix. It is evaluated once, when a provider
// packs it; the checkpoint's ids stay reachable through `sources()`, which calibration and mixed
// precision key on.
class WeightExpression {
 public:
  virtual ~WeightExpression() = default;
  virtual WeightInfo info(const WeightSource& source) const = 0;
  // Encoded rows [first, first + n), n = out.size() / row_bytes.
  virtual void read_rows(const WeightSource& source, int64_t first,
                         std::span<std::byte> out) const = 0;
  // Equal text means equal value: packed copies are shared by it. For example
  // "rows(token_embedding, 0:100)".
  virtual std::string text() const = 0;
  virtual void collect_sources(std::vector<std::string>& ids) const = 0;

  std::vector<std::string> sources() const;
};

// The checkpoint's tensor `id` itself.
Weight tensor(std::string id);
// Rows [first, first + count) of `operand`.
Weight slice_rows(Weight operand, int64_t first, int64_t count);
// The operands' rows one after another; equal columns and dtypes.
Weight concatenate_rows(std::vector<Weight> operands);
// Row i is row permutation[i] of `operand`; `label` names the permutation in text().
Weight permute_rows(Weight operand, std::vector<int32_t> permutation, std::string label);
// Every element multiplied by `factor` and then `offset` added, as float32 (Gemma's 1 + w has
// factor 1, offset 1).
Weight affine(Weight operand, float factor, float offset);
// Re-encoded as `dtype` by round-to-nearest.
Weight quantize(Weight operand, DType dtype);

}  // namespace adze::graph
