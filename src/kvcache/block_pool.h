// Blocks of cache memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/arena.h"

namespace adze::kvcache {

// Equal blocks out of one arena; what they hold is opaque. Not thread-safe.
class BlockPool {
 public:
  // Throws Error{kResourceExhausted} where the memory cannot be had, Error{kInvalidInput} for a
  // negative number of blocks. Pages are touched only as blocks are used.
  BlockPool(size_t block_bytes, int32_t blocks);

  // A zeroed block. Throws Error{kResourceExhausted} where none is free.
  std::byte* allocate();
  // Takes back a block of this pool that is in use; anything else is a programmer's mistake.
  void release(std::byte* block);

  int32_t total() const { return total_; }
  int32_t available() const { return total_ - in_use_; }
  size_t block_bytes() const { return block_bytes_; }

 private:
  size_t block_bytes_;
  int32_t total_;
  int32_t in_use_ = 0;
  int32_t fresh_ = 0;  // blocks from here on were never given out: still zero
  HugeBuffer memory_;
  std::vector<std::byte*> free_;  // released ones, last released on top
};

}  // namespace adze::kvcache
