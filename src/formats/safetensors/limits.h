// What this project's reader of safetensors accepts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace adze::safetensors {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
inline constexpr uint64_t kMaxIndexBytes = uint64_t{32} << 20;
inline constexpr size_t kMaxDimensions = 8;
inline constexpr size_t kMaxTensors = size_t{1} << 20;
inline constexpr size_t kMaxParts = 9999;

}  // namespace adze::safetensors
