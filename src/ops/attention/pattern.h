// Which keys the rows of a sequence see, as data: what a row does not see costs it nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"

namespace adze::ops {

// A causal row sees what is in its window, the sinks and the global tokens up to its own position;
// a global token itself sees everything up to its own.
struct AttentionPattern {
  int32_t window = 0;                // positions up to its own that a row sees; 0: all
  int32_t sinks = 0;                 // tokens at the beginning that every row sees
  std::span<const int32_t> globals;  // positions, ascending

  // The most ranges of a row.
  size_t max_ranges() const { return globals.size() + 2; }
};

// Writes the ranges of the row at `position` to `out`, which has room for max_ranges(); gives their
// number.
size_t visible_ranges(const AttentionPattern& pattern, int32_t position, KeyRange* out);

// Of `ranges` what lies in the cache blocks whose bit is set in `mask`, bit b % 64 of word b / 64
// for block b; blocks past its end are not set. `out` has room for ranges.size() + 32 ·
// mask.size(). Gives the number, perhaps 0: of no use to a kernel then.
size_t ranges_in_blocks(std::span<const KeyRange> ranges, std::span<const uint64_t> mask,
                        KeyRange* out);

}  // namespace adze::ops
