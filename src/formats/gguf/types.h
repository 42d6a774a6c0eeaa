// GGUF's tensor type codes.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/dtype.h"

namespace adze::gguf {

std::optional<DType> dtype_from_code(uint32_t code);
uint32_t code_from_dtype(DType dtype);

}  // namespace adze::gguf
