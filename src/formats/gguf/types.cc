#include "formats/gguf/types.h"

#include <array>

#include "base/error.h"

namespace adze::gguf {
namespace {

struct TypeCode {
  uint32_t code;
  DType dtype;
};
constexpr std::array<TypeCode, kDTypeCount> kCodes = {{
    {0, DType::kF32},     {1, DType::kF16},     {2, DType::kQ4_0},  {3, DType::kQ4_1},
    {6, DType::kQ5_0},    {7, DType::kQ5_1},    {8, DType::kQ8_0},  {10, DType::kQ2_K},
    {11, DType::kQ3_K},   {12, DType::kQ4_K},   {13, DType::kQ5_K}, {14, DType::kQ6_K},
    {20, DType::kIQ4_NL}, {23, DType::kIQ4_XS}, {24, DType::kI8},   {25, DType::kI16},
    {26, DType::kI32},    {27, DType::kI64},    {28, DType::kF64},  {30, DType::kBF16},
    {39, DType::kMXFP4},
}};

}  // namespace

std::optional<DType> dtype_from_code(uint32_t code) {
  for (const TypeCode& entry : kCodes) {
    if (entry.code == code) return entry.dtype;
  }
  return std::nullopt;
}

uint32_t code_from_dtype(DType dtype) {
  for (const TypeCode& entry : kCodes) {
    if (entry.dtype == dtype) return entry.code;
  }
  throw_internal("GGUF has no code for {}", dtype_info(dtype).name);
}

}  // namespace adze::gguf
