#include "graph/types.h"

#include <fmt/core.h>

namespace adze::graph {

std::string_view axis_name(Axis axis) {
  switch (axis) {
    case Axis::kNone:
      return "";
    case Axis::kTokens:
      return "tokens";
    case Axis::kSampled:
      return "sampled";
    case Axis::kHidden:
      return "hidden";
    case Axis::kHeads:
      return "heads";
    case Axis::kKvHeads:
      return "kv_heads";
    case Axis::kHeadDim:
      return "head_dim";
    case Axis::kFfn:
      return "ffn";
    case Axis::kVocab:
      return "vocab";
  }
  return "";
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (const Dim& dim : shape) {
    if (out.size() > 1) out += ", ";
    if (dim.symbolic()) {
      out += axis_name(dim.axis);
    } else if (dim.axis == Axis::kNone) {
      out += std::to_string(dim.size);
    } else {
      out += fmt::format("{}={}", axis_name(dim.axis), dim.size);
    }
  }
  return out + "]";
}

int64_t row_elements(const Shape& shape) {
  int64_t product = 1;
  for (const Dim& dim : shape) {
    if (!dim.symbolic()) product *= dim.size;
  }
  return product;
}

bool has_rows(const Shape& shape) { return !shape.empty() && shape.front().symbolic(); }

std::string_view element_type_name(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "f32";
    case ElementType::kI32:
      return "i32";
    case ElementType::kQuantized:
      return "int";
    case ElementType::kState:
      return "state";
  }
  return "";
}

}  // namespace adze::graph
