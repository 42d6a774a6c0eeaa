// A hash table from 64-bit keys for look-ups in hot loops.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace adze::text {

// Open addressing with linear probing in one array. The position is the top bits of a product by a
// secret odd number, so that a file cannot choose keys that collide (Dietzfelbinger et al., "A
// reliable randomized algorithm for the closest-pair problem", 1997). Reading is safe from several
// threads. The key 2⁶⁴ − 1 is not allowed.
template <class Value>
class FlatMap {
 public:
  FlatMap() : multiplier_(random_odd()), slots_(2) {}

  // Room for `count` keys without growing.
  void reserve(size_t count) {
    if (count * 2 > slots_.size()) resize(std::bit_ceil(count * 2));
  }

  // Replaces what the key had.
  void set(uint64_t key, const Value& value) {
    assert(key != kFree);
    if ((used_ + 1) * 2 > slots_.size()) resize(slots_.size() * 2);
    Slot& slot = slots_[place(key)];
    used_ += slot.key == kFree ? 1 : 0;
    slot = {key, value};
  }

  // Null where the key is absent. Valid until the next set().
  const Value* find(uint64_t key) const {
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  size_t size() const { return used_; }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Value value{};
  };

  static uint64_t random_odd() {
    std::random_device random;
    return (static_cast<uint64_t>(random()) << 32 | random()) | 1;
  }

  // Where the key is or would be put.
  size_t place(uint64_t key) const {
    auto slot = static_cast<size_t>((key * multiplier_) >> (64 - std::countr_zero(slots_.size())));
    while (slots_[slot].key != key && slots_[slot].key != kFree) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  void resize(size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kFree) slots_[place(slot.key)] = slot;
    }
  }

  uint64_t multiplier_;
  std::vector<Slot> slots_;  // a power of two, at most half of them used
  size_t used_ = 0;
};

}  // namespace adze::text
