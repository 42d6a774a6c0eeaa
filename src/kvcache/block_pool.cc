#include "kvcache/block_pool.h"

#include <cassert>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"

namespace adze::kvcache {

BlockPool::BlockPool(size_t block_bytes, int32_t blocks)
    : block_bytes_(block_bytes),
      total_(blocks),
      memory_((CheckedSize(block_bytes) * CheckedSize::from_signed(blocks)).as<size_t>()) {}

std::byte* BlockPool::allocate() {
  if (in_use_ == total_) throw_exhausted("all {} cache blocks are in use", total_);
  ++in_use_;
  if (free_.empty()) return memory_.data() + static_cast<size_t>(fresh_++) * block_bytes_;
  std::byte* block = free_.back();
  free_.pop_back();
  std::memset(block, 0, block_bytes_);
  return block;
}

void BlockPool::release(std::byte* block) {
  assert(block >= memory_.data() && block < memory_.data() + memory_.size());
  free_.push_back(block);
  --in_use_;
}

}  // namespace adze::kvcache
