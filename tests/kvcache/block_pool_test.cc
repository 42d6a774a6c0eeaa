#include "kvcache/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "base/error.h"

namespace adze::kvcache {
namespace {

bool is_zero(const std::byte* block, size_t bytes) {
  return std::all_of(block, block + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(BlockPool, BlocksAreZeroedAndApart) {
  constexpr size_t kBytes = 4160;
  BlockPool pool(kBytes, 7);
  std::vector<std::byte*> held;
  std::mt19937 random(1);
  for (int step = 0; step < 2000; ++step) {
    if (!held.empty() && (random() % 2 == 0 || held.size() == 7)) {
      const size_t i = random() % held.size();
      // Whoever writes past a block or shares one is found by this.
      for (size_t b = 0; b < kBytes; ++b) ASSERT_EQ(held[i][b], std::byte{0xa5});
      pool.release(held[i]);
      held.erase(held.begin() + static_cast<ptrdiff_t>(i));
    } else {
      std::byte* block = pool.allocate();
      ASSERT_TRUE(is_zero(block, kBytes));
      std::memset(block, 0xa5, kBytes);
      held.push_back(block);
    }
    ASSERT_EQ(pool.available(), 7 - static_cast<int>(held.size()));
    ASSERT_EQ(std::set(held.begin(), held.end()).size(), held.size());
  }
}

TEST(BlockPool, AnEmptyPoolSaysSo) {
  BlockPool pool(64, 2);
  std::byte* first = pool.allocate();
  pool.allocate();
  try {
    pool.allocate();
    FAIL() << "a third block of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted);
  }
  pool.release(first);
  EXPECT_EQ(pool.allocate(), first);
}

TEST(BlockPool, MoreMemoryThanThereCanBeIsAnError) {
  EXPECT_THROW(BlockPool(size_t{1} << 62, 1000), Error);
  EXPECT_THROW(BlockPool(size_t{1} << 45, 1000), Error);
}

}  // namespace
}  // namespace adze::kvcache
