#include "kvcache/block_pool.h"

#include <cstring>
#include <utility>

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

BlockPool::BlockPool(size_t block_bytes, int32_t blocks, OnEvict on_evict)
    : block_bytes_(block_bytes),
      on_evict_(std::move(on_evict)),
      memory_(all_bytes(block_bytes, blocks)),
      states_(static_cast<size_t>(blocks)) {
  // So that releasing never asks for memory.
  free_.reserve(states_.size());
  for (int32_t i = 0; i < blocks; ++i) {
    states_[static_cast<size_t>(i)].place = others_.insert(others_.end(), i);
  }
}

size_t BlockPool::index(const std::byte* block) const {
  const auto offset = static_cast<size_t>(block - memory_.data());
  if (block < memory_.data() || offset >= states_.size() * block_bytes_ ||
      offset % block_bytes_ != 0) {
    throw_internal("cache: a block that is none of the pool's");
  }
  return offset / block_bytes_;
}

std::byte* BlockPool::allocate() {
  int32_t chosen = 0;
  bool zeroed = false;
  if (!free_.empty()) {
    chosen = free_.back();
    free_.pop_back();
  } else if (fresh_ < total()) {
    chosen = fresh_++;
    zeroed = true;
  } else if (!unowned_.empty()) {
    chosen = unowned_.front();
    others_.splice(others_.end(), unowned_, unowned_.begin());
    states_[static_cast<size_t>(chosen)].kept = false;
    if (on_evict_) on_evict_(block(chosen));
  } else {
    throw_exhausted("all {} cache blocks are in use", total());
  }
  states_[static_cast<size_t>(chosen)].owners = 1;
  ++owned_;
  if (!zeroed) std::memset(block(chosen), 0, block_bytes_);
  return block(chosen);
}

void BlockPool::retain(std::byte* block) {
  State& state = states_[index(block)];
  if (state.owners == 0) {
    if (!state.kept) throw_internal("cache: a free block cannot be retained");
    others_.splice(others_.end(), unowned_, state.place);
    ++owned_;
  }
  ++state.owners;
}

void BlockPool::release(std::byte* block) {
  const size_t which = index(block);
  State& state = states_[which];
  if (state.owners == 0) throw_internal("cache: a block is released twice");
  if (--state.owners > 0) return;
  --owned_;
  if (state.kept) {
    unowned_.splice(unowned_.end(), others_, state.place);
  } else {
    free_.push_back(static_cast<int32_t>(which));
  }
}

void BlockPool::keep(std::byte* block) {
  State& state = states_[index(block)];
  if (state.owners == 0) throw_internal("cache: a block without an owner cannot be kept");
  state.kept = true;
}

}  // namespace adze::kvcache
