// Element types of safetensors files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace adze::safetensors {

struct ElementType {
  std::string_view name;  // as headers spell it
  uint32_t bits;          // per element; elements of less than a byte are packed
  std::optional<DType>
      dtype;  // nothing: such tensors are listed, but nothing here computes on them
};

// Null for a name that the format does not define.
const ElementType* find_element_type(std::string_view name);

}  // namespace adze::safetensors
