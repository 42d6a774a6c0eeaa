// A part of a text.
#pragma once

#include <cstddef>

namespace adze::text {

// Bytes [begin, end).
struct ByteRange {
  size_t begin;
  size_t end;
};

}  // namespace adze::text
