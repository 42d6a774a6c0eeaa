#include "engine/random.h"

namespace adze::engine {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double uniform(uint64_t seed, uint32_t choice, uint64_t position, uint32_t draw) {
  const auto bits =
      philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), choice, draw},
             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t wide = uint64_t{bits[0]} << 32 | bits[1];
  return static_cast<double>(wide >> 11) * 0x1p-53;
}

}  // namespace adze::engine
