#include "formats/safetensors/types.h"

#include <algorithm>
#include <iterator>

namespace adze::safetensors {
namespace {

constexpr ElementType kTypes[] = {
    {"F32", 32, DType::kF32},     {"F16", 16, DType::kF16},     {"BF16", 16, DType::kBF16},
    {"BOOL", 8, std::nullopt},    {"U8", 8, std::nullopt},      {"I8", 8, std::nullopt},
    {"U16", 16, std::nullopt},    {"I16", 16, std::nullopt},    {"U32", 32, std::nullopt},
    {"I32", 32, std::nullopt},    {"U64", 64, std::nullopt},    {"I64", 64, std::nullopt},
    {"F64", 64, std::nullopt},    {"C64", 64, std::nullopt},    {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2", 8, std::nullopt}, {"F8_E8M0", 8, std::nullopt}, {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt}, {"F4", 4, std::nullopt},
};

}  // namespace

const ElementType* find_element_type(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const ElementType& type) { return type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace adze::safetensors
