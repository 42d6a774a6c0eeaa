// Counter-based random numbers.
#pragma once

#include <array>
#include <cstdint>

namespace adze::engine {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): 128 random
// bits as a pure function of key and counter.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Uniform in [0, 1) with 53 bits, for draw `draw` at `position` of choice `choice` under `seed`.
double uniform(uint64_t seed, uint32_t choice, uint64_t position, uint32_t draw);

}  // namespace adze::engine
