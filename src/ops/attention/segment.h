// The entry of the attention kernels: a tile in passes of rows, by the cache's type.
#pragma once

#include "ops/attention/fold.h"
#include "ops/attention/generic.h"
#include "ops/attention/generic_i8.h"

namespace adze::ops::generic {

template <class V, int R>
inline bool any_sees(const AttentionRow* rows, int32_t segment) {
  for (int r = 0; r < R; ++r) {
    if (sees_segment<V>(rows[r], segment)) return true;
  }
  return false;
}

template <class V>
void segment(const AttentionTile& tile, int32_t segment, float* partials, size_t stride) {
  const AttentionRow* rows = tile.rows.data();
  auto left = static_cast<int32_t>(tile.rows.size());
  const auto run = [&]<int R>() {
    if (!any_sees<V, R>(rows, segment)) {
    } else if (tile.layout->dtype == CacheDType::kI8) {
      segment_rows_i8<V, R>(tile, rows, segment, partials, stride);
    } else {
      segment_rows<V, R>(tile, rows, segment, partials, stride);
    }
    rows += R;
    left -= R;
    partials += static_cast<size_t>(R) * stride;
  };
  // NOLINTBEGIN(bugprone-infinite-loop): run() takes its rows from `left`.
  if constexpr (V::kMaxTileRows >= 8) {
    while (left >= 8) run.template operator()<8>();
  }
  while (left >= 4) run.template operator()<4>();
  while (left >= 3) run.template operator()<3>();
  while (left >= 2) run.template operator()<2>();
  while (left >= 1) run.template operator()<1>();
  // NOLINTEND(bugprone-infinite-loop)
}

}  // namespace adze::ops::generic
