// Which characters stand next to each other inside tokens.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace adze::text {

// A set that may say yes to a few pairs that were never added (a Bloom filter with one hash), never
// no to one that was. Reading is safe from several threads.
class CharacterPairs {
 public:
  // For about `expected` different pairs.
  explicit CharacterPairs(size_t expected)
      : words_(std::bit_ceil(expected / 4 + 64)),
        shift_(64 - 6 - std::countr_zero(words_.size())) {}

  void add(uint32_t first, uint32_t second) {
    const uint64_t bit = bit_of(first, second);
    words_[bit >> 6] |= uint64_t{1} << (bit & 63);
  }
  bool may_contain(uint32_t first, uint32_t second) const {
    const uint64_t bit = bit_of(first, second);
    return (words_[bit >> 6] >> (bit & 63) & 1) != 0;
  }

 private:
  uint64_t bit_of(uint32_t first, uint32_t second) const {
    // 2⁶⁴ divided by the golden ratio spreads neighbouring keys (Knuth, volume 3, section 6.4).
    return ((static_cast<uint64_t>(first) << 32 | second) * 0x9e3779b97f4a7c15u) >> shift_;
  }

  std::vector<uint64_t> words_;  // a power of two
  int shift_;
};

}  // namespace adze::text
