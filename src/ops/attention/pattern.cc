#include "ops/attention/pattern.h"

#include <algorithm>

namespace adze::ops {
namespace {

// Appends a range that begins no earlier than the last one, and joins it where they meet.
void append(KeyRange range, KeyRange* out, size_t& count) {
  if (range.from >= range.to) return;
  if (count > 0 && range.from <= out[count - 1].to) {
    out[count - 1].to = std::max(out[count - 1].to, range.to);
  } else {
    out[count++] = range;
  }
}

}  // namespace

size_t visible_ranges(const AttentionPattern& pattern, int32_t position, KeyRange* out) {
  size_t count = 0;
  const bool all = pattern.window == 0 || position < pattern.window ||
                   std::binary_search(pattern.globals.begin(), pattern.globals.end(), position);
  const int32_t first = all ? 0 : position - pattern.window + 1;
  append({0, std::min(pattern.sinks, first)}, out, count);
  for (const int32_t global : pattern.globals) {
    if (global >= first) break;
    append({global, global + 1}, out, count);
  }
  append({first, position + 1}, out, count);
  return count;
}

size_t ranges_in_blocks(std::span<const KeyRange> ranges, std::span<const uint64_t> mask,
                        KeyRange* out) {
  size_t count = 0;
  const auto blocks = static_cast<int32_t>(mask.size() * 64);
  for (const KeyRange& range : ranges) {
    const int32_t last = std::min(blocks, (range.to + kCacheTokens - 1) / kCacheTokens);
    for (int32_t b = range.from / kCacheTokens; b < last; ++b) {
      if ((mask[static_cast<size_t>(b) / 64] >> (b % 64) & 1) == 0) continue;
      append({std::max(range.from, b * kCacheTokens), std::min(range.to, (b + 1) * kCacheTokens)},
             out, count);
    }
  }
  return count;
}

}  // namespace adze::ops
