#include "graph/weight.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace adze::graph {

size_t WeightInfo::row_bytes() const {
  const DTypeInfo& type = dtype_info(dtype);
  return static_cast<size_t>(columns) / type.block_elements * type.block_bytes;
}

std::vector<std::string> WeightExpression::sources() const {
  std::vector<std::string> ids;
  collect_sources(ids);
  return ids;
}

namespace {

class Tensor final : public WeightExpression {
 public:
  explicit Tensor(std::string id) : id_(std::move(id)) {}
  WeightInfo info(const WeightSource& source) const override { return source.info(id_); }
  void read_rows(const WeightSource& source, int64_t first,
                 std::span<std::byte> out) const override {
    source.read_rows(id_, first, out);
  }
  std::string text() const override { return id_; }
  void collect_sources(std::vector<std::string>& ids) const override { ids.push_back(id_); }

 private:
  std::string id_;
};

// One operand whose ids carry over.
class Unary : public WeightExpression {
 public:
  explicit Unary(Weight operand) : operand_(std::move(operand)) {}
  void collect_sources(std::vector<std::string>& ids) const override {
    operand_->collect_sources(ids);
  }

 protected:
  const WeightExpression& operand() const { return *operand_; }

 private:
  Weight operand_;
};

class RowSlice final : public Unary {
 public:
  RowSlice(Weight operand, int64_t first, int64_t count)
      : Unary(std::move(operand)), first_(first), count_(count) {}
  WeightInfo info(const WeightSource& source) const override {
    WeightInfo result = operand().info(source);
    if (first_ < 0 || count_ < 0 || count_ > result.rows || first_ > result.rows - count_) {
      throw_invalid("weight {}: it has {} rows", text(), result.rows);
    }
    result.rows = count_;
    return result;
  }
  void read_rows(const WeightSource& source, int64_t first,
                 std::span<std::byte> out) const override {
    operand().read_rows(source, first_ + first, out);
  }
  std::string text() const override {
    return fmt::format("rows({}, {}:{})", operand().text(), first_, first_ + count_);
  }

 private:
  int64_t first_;
  int64_t count_;
};

class RowConcatenation final : public WeightExpression {
 public:
  explicit RowConcatenation(std::vector<Weight> operands) : operands_(std::move(operands)) {}
  WeightInfo info(const WeightSource& source) const override {
    WeightInfo result = operands_.front()->info(source);
    for (size_t i = 1; i < operands_.size(); ++i) {
      const WeightInfo next = operands_[i]->info(source);
      if (next.dtype != result.dtype || next.columns != result.columns) {
        throw_invalid("weight {}: operands differ in type or columns", text());
      }
      result.rows += next.rows;
    }
    return result;
  }
  void read_rows(const WeightSource& source, int64_t first,
                 std::span<std::byte> out) const override {
    for (const Weight& operand : operands_) {
      if (out.empty()) return;
      const WeightInfo part = operand->info(source);
      if (first >= part.rows) {
        first -= part.rows;
        continue;
      }
      const size_t bytes =
          std::min(out.size(), static_cast<size_t>(part.rows - first) * part.row_bytes());
      operand->read_rows(source, first, out.first(bytes));
      out = out.subspan(bytes);
      first = 0;
    }
  }
  std::string text() const override {
    std::string joined;
    for (const Weight& operand : operands_) {
      joined += (joined.empty() ? "" : ", ") + operand->text();
    }
    return "concatenate(" + joined + ")";
  }
  void collect_sources(std::vector<std::string>& ids) const override {
    for (const Weight& operand : operands_) operand->collect_sources(ids);
  }

 private:
  std::vector<Weight> operands_;
};

class RowPermutation final : public Unary {
 public:
  RowPermutation(Weight operand, std::vector<int32_t> permutation, std::string label)
      : Unary(std::move(operand)), permutation_(std::move(permutation)), label_(std::move(label)) {}
  WeightInfo info(const WeightSource& source) const override {
    const WeightInfo result = operand().info(source);
    if (result.rows != static_cast<int64_t>(permutation_.size())) {
      throw_invalid("weight {}: {} rows, but the permutation is of {}", text(), result.rows,
                    permutation_.size());
    }
    return result;
  }
  void read_rows(const WeightSource& source, int64_t first,
                 std::span<std::byte> out) const override {
    const size_t row_bytes = operand().info(source).row_bytes();
    const auto rows = static_cast<int64_t>(out.size() / row_bytes);
    // One read covers the rows that a head's permutation mixes: they are neighbours.
    const auto begin = permutation_.begin() + first;
    const auto [low, high] = std::minmax_element(begin, begin + rows);
    std::vector<std::byte> staging(static_cast<size_t>(*high - *low + 1) * row_bytes);
    operand().read_rows(source, *low, staging);
    for (int64_t i = 0; i < rows; ++i) {
      const auto offset = static_cast<size_t>(begin[i] - *low) * row_bytes;
      std::copy_n(staging.begin() + static_cast<ptrdiff_t>(offset), row_bytes,
                  out.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(i) * row_bytes));
    }
  }
  std::string text() const override { return fmt::format("{}({})", label_, operand().text()); }

 private:
  std::vector<int32_t> permutation_;
  std::string label_;
};

// Operands that are decoded to float32, changed, and encoded again.
class Reencoded : public Unary {
 public:
  Reencoded(Weight operand, DType dtype) : Unary(std::move(operand)), dtype_(dtype) {}
  WeightInfo info(const WeightSource& source) const override {
    WeightInfo result = operand().info(source);
    result.dtype = dtype_;
    if (result.columns % dtype_info(dtype_).block_elements != 0) {
      throw_invalid("weight {}: {} columns are not whole blocks of {}", text(), result.columns,
                    dtype_info(dtype_).name);
    }
    return result;
  }
  void read_rows(const WeightSource& source, int64_t first,
                 std::span<std::byte> out) const override {
    const WeightInfo from = operand().info(source);
    const size_t rows = out.size() / info(source).row_bytes();
    std::vector<std::byte> encoded(rows * from.row_bytes());
    operand().read_rows(source, first, encoded);
    std::vector<float> values(rows * static_cast<size_t>(from.columns));
    decode(from.dtype, encoded, values);
    transform(values);
    encode(dtype_, values, out);
  }

 protected:
  virtual void transform(std::span<float> values) const = 0;
  DType dtype() const { return dtype_; }

 private:
  DType dtype_;
};

class Affine final : public Reencoded {
 public:
  Affine(Weight operand, float factor, float offset)
      : Reencoded(std::move(operand), DType::kF32), factor_(factor), offset_(offset) {}
  std::string text() const override {
    return fmt::format("affine({}, {}, {})", operand().text(), factor_, offset_);
  }

 private:
  void transform(std::span<float> values) const override {
    for (float& value : values) value = value * factor_ + offset_;
  }
  float factor_;
  float offset_;
};

class Quantization final : public Reencoded {
 public:
  using Reencoded::Reencoded;
  std::string text() const override {
    return fmt::format("quantize({}, {})", operand().text(), dtype_info(dtype()).name);
  }

 private:
  void transform(std::span<float>) const override {}
};

}  // namespace

Weight tensor(std::string id) { return std::make_shared<Tensor>(std::move(id)); }
Weight slice_rows(Weight operand, int64_t first, int64_t count) {
  return std::make_shared<RowSlice>(std::move(operand), first, count);
}
Weight concatenate_rows(std::vector<Weight> operands) {
  return std::make_shared<RowConcatenation>(std::move(operands));
}
Weight permute_rows(Weight operand, std::vector<int32_t> permutation, std::string label) {
  return std::make_shared<RowPermutation>(std::move(operand), std::move(permutation),
                                          std::move(label));
}
Weight affine(Weight operand, float factor, float offset) {
  return std::make_shared<Affine>(std::move(operand), factor, offset);
}
Weight quantize(Weight operand, DType dtype) {
  return std::make_shared<Quantization>(std::move(operand), dtype);
}

}  // namespace adze::graph
