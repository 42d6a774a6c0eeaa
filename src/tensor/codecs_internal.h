// What the codecs share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/load.h"
#include "tensor/dtype.h"

namespace adze::codecs {

inline float load_f16(const std::byte* bytes) { return f16_to_f32(load<uint16_t>(bytes)); }
inline int low_nibble(std::byte byte) { return std::to_integer<int>(byte) & 15; }
inline int high_nibble(std::byte byte) { return std::to_integer<int>(byte) >> 4; }

// The codebook of IQ4_NL and IQ4_XS.
inline constexpr std::array<int8_t, 16> kNonLinear4 = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                       1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace adze::codecs
