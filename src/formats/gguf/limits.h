// What this project's reader accepts and its writer therefore keeps to.
#pragma once

#include <cstdint>

namespace adze::gguf {

inline constexpr uint64_t kDefaultAlignment = 32;
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
inline constexpr uint32_t kMaxDimensions = 4;
inline constexpr uint64_t kMaxNameBytes = 65535;  // of a key or a tensor
// An entry costs more memory than it needs bytes in the file.
inline constexpr uint64_t kMaxMetadata = uint64_t{1} << 16;
inline constexpr uint64_t kMaxMetadataBytes = uint64_t{1} << 30;  // to the end of a value
inline constexpr uint64_t kMaxTensors = uint64_t{1} << 20;
inline constexpr int64_t kMaxParts = 9999;  // of a split model

// Is `value` a power of two up to kMaxAlignment?
constexpr bool valid_alignment(uint64_t value) {
  return value >= 1 && value <= kMaxAlignment && (value & (value - 1)) == 0;
}

}  // namespace adze::gguf
