// Axes, shapes and element types of the values that flow along a graph's edges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adze::graph {

// What a dimension means. Sharding and structured pruning derive from these labels.
enum class Axis : uint8_t {
  kNone,
  kTokens,   // rows of the batch; size known only at run time
  kSampled,  // rows whose logits are wanted; size known only at run time
  kHidden,
  kHeads,
  kKvHeads,
  kHeadDim,
  kFfn,
  kVocab,
};
std::string_view axis_name(Axis axis);

// A dimension whose size is the symbol of its axis (kTokens, kSampled), bounded when a plan is
// made.
inline constexpr int64_t kSymbolic = -1;

struct Dim {
  Axis axis = Axis::kNone;
  int64_t size = 1;

  bool symbolic() const { return size == kSymbolic; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

// Outermost dimension first. At most the first dimension is symbolic.
using Shape = std::vector<Dim>;

std::string to_string(const Shape& shape);
// Elements of one row: the product of all dimensions but a symbolic first one.
int64_t row_elements(const Shape& shape);
// True where the first dimension is symbolic.
bool has_rows(const Shape& shape);

enum class ElementType : uint8_t {
  kF32,
  kI32,
  // Integer codes of 8 or 16 bits with a float32 scale per `quantization_group` elements of a row.
  kQuantized,
  kState,  // no bytes: orders readers of a sequence's state after its writer
};
std::string_view element_type_name(ElementType type);

}  // namespace adze::graph
