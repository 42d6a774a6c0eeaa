// Numbers read from where no alignment is promised.
#pragma once

#include <cstring>

namespace adze {

// The value whose bytes, in the machine's order, begin at `from`, all of which must be readable.
template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace adze
