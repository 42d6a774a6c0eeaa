#include "kvcache/block_pool.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"

namespace adze::kvcache {

namespace {

size_t all_bytes(size_t block_bytes, int32_t blocks) {
  const uint64_t count = CheckedSize::from_signed(blocks).value();
  size_t bytes = 0;
  if (__builtin_mul_overflow(block_bytes, count, &bytes)) {
    throw_exhausted("cannot get memory for {} cache blocks of {} bytes", blocks, block_bytes);
  }
  return bytes;
}

}  // namespace

BlockPool::BlockPool(size_t block_bytes, int32_t blocks)
    : block_bytes_(block_bytes), total_(blocks), memory_(all_bytes(block_bytes, blocks)) {}

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
  assert(static_cast<size_t>(block - memory_.data()) % block_bytes_ == 0);
  assert(std::find(free_.begin(), free_.end(), block) == free_.end());
  free_.push_back(block);
  --in_use_;
}

}  // namespace adze::kvcache
