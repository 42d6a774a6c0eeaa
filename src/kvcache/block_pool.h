// Blocks of cache memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "base/arena.h"

namespace adze::kvcache {

// Equal blocks out of one arena; what they hold is opaque. A block has as many owners as hold it;
// one without owners is free, or, where it was marked as kept, still holds what was written until
// its place is needed. Not thread-safe. Asking anything of a block that is not of this pool, or
// releasing one without owners, throws Error{kInternal}.
class BlockPool {
 public:
  // Told of a kept block that loses its contents.
  using OnEvict = std::function<void(std::byte* block)>;

  // Throws Error{kResourceExhausted} where the memory cannot be had, Error{kInvalidInput} for a
  // negative number of blocks. Pages are touched only as blocks are used.
  BlockPool(size_t block_bytes, int32_t blocks, OnEvict on_evict = {});

  // A zeroed block with one owner: a free one, else the kept one that was released first. Throws
  // Error{kResourceExhausted} where every block has an owner.
  std::byte* allocate();
  // One owner more; of a kept block perhaps the first.
  void retain(std::byte* block);
  // One owner less. Throws nothing but Error{kInternal}, for it asks for no memory.
  void release(std::byte* block);
  // From now on the block outlives its owners. It has one.
  void keep(std::byte* block);
  bool has_owner(const std::byte* block) const { return state(block).owners > 0; }

  int32_t total() const { return static_cast<int32_t>(states_.size()); }
  // Blocks without an owner.
  int32_t available() const { return total() - owned_; }
  size_t block_bytes() const { return block_bytes_; }

 private:
  struct State {
    int32_t owners = 0;
    bool kept = false;
    std::list<int32_t>::iterator place;  // in unowned_ where it is kept and has no owner
  };

  size_t index(const std::byte* block) const;
  const State& state(const std::byte* block) const { return states_[index(block)]; }
  std::byte* block(int32_t index) const {
    return memory_.data() + static_cast<size_t>(index) * block_bytes_;
  }

  size_t block_bytes_;
  OnEvict on_evict_;
  HugeBuffer memory_;
  std::vector<State> states_;
  int32_t owned_ = 0;
  int32_t fresh_ = 0;           // blocks from here on were never given out: still zero
  std::vector<int32_t> free_;   // released ones, last released on top
  std::list<int32_t> unowned_;  // kept ones without owners, first released first
  std::list<int32_t> others_;   // the rest: places go between the two lists and are never made anew
};

}  // namespace adze::kvcache
