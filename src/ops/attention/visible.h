// Which keys of a segment query rows see.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"

namespace adze::ops::generic {

inline constexpr int kSegmentGroups = kSegmentTokens / 16;  // of sixteen lanes

// The first of a row's ranges that ends behind `position`.
template <class V>
inline const KeyRange* range_behind(const AttentionRow& row, int32_t position) {
  const KeyRange* range = row.seen.data();
  for (size_t left = row.seen.size(); left > 0;) {
    const size_t half = left / 2;
    if (range[half].to > position) {
      left = half;
    } else {
      range += half + 1;
      left -= half + 1;
    }
  }
  return range;
}

template <class V>
inline bool sees_segment(const AttentionRow& row, int32_t segment) {
  const int32_t begin = segment * kSegmentTokens;
  const KeyRange* range = range_behind<V>(row, begin);
  return range != row.seen.data() + row.seen.size() && range->from < begin + kSegmentTokens;
}

// Of up to R rows, a bit per token in groups of 16.
template <class V, int R>
struct Visible {
  alignas(32) uint16_t lanes[R][kSegmentGroups];
  alignas(32) uint16_t any[kSegmentGroups] = {};  // tokens that some row sees
  alignas(32) uint16_t all[kSegmentGroups];       // tokens that every row sees
  bool sees[R];                                   // whether the row sees a key of the segment
  bool full = true;                               // every row sees every token

  // `begin` is the segment's first position.
  Visible(const AttentionRow* rows, int count, int32_t begin) {
    for (uint16_t& mask : all) mask = 0xffff;
    for (int r = 0; r < count && full; ++r) {
      const KeyRange* range = range_behind<V>(rows[r], begin);
      full = range != rows[r].seen.data() + rows[r].seen.size() && range->from <= begin &&
             range->to >= begin + kSegmentTokens;
      sees[r] = true;
    }
    if (full) {
      for (uint16_t& mask : any) mask = 0xffff;
      __builtin_memset(lanes, 0xff, sizeof lanes);
      return;
    }
    for (int r = 0; r < count; ++r) {
      sees[r] = false;
      for (uint16_t& mask : lanes[r]) mask = 0;
      const KeyRange* end = rows[r].seen.data() + rows[r].seen.size();
      for (const KeyRange* range = range_behind<V>(rows[r], begin);
           range != end && range->from < begin + kSegmentTokens; ++range) {
        see(lanes[r], sees[r], range->from - begin, range->to - begin);
      }
      for (int g = 0; g < kSegmentGroups; ++g) {
        any[g] = static_cast<uint16_t>(any[g] | lanes[r][g]);
        all[g] = static_cast<uint16_t>(all[g] & lanes[r][g]);
      }
    }
  }

 private:
  static void see(uint16_t* mask, bool& sees_any, int32_t from, int32_t to) {
    sees_any = true;
    if (from <= 0 && to >= kSegmentTokens) {
      for (int g = 0; g < kSegmentGroups; ++g) mask[g] = 0xffff;
      return;
    }
    from = from > 0 ? from : 0;
    to = to < kSegmentTokens ? to : kSegmentTokens;
    for (int32_t g = from / 16; g * 16 < to; ++g) {
      const int32_t low = from > g * 16 ? from - g * 16 : 0;
      const int32_t high = to < g * 16 + 16 ? to - g * 16 : 16;
      mask[g] = static_cast<uint16_t>(mask[g] | ((1u << high) - (1u << low)));
    }
  }
};

// Sets the lanes of a group that `seen` lacks.
template <class V>
inline void fill_unseen(float* group, uint16_t seen, float value) {
  if (seen == 0xffff) return;
  for (int i = 0; i < 16; ++i) {
    if ((seen >> i & 1) == 0) group[i] = value;
  }
}

}  // namespace adze::ops::generic
