#include "kvcache/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"

namespace adze::kvcache {
namespace {

using testing::HasSubstr;

constexpr size_t kBytes = 1536;

bool holds(const std::byte* block, std::byte value) {
  return std::all_of(block, block + kBytes, [value](std::byte byte) { return byte == value; });
}

TEST(BlockPool, BlocksAreZeroedAndApart) {
  BlockPool pool(kBytes, 20);
  EXPECT_EQ(pool.total(), 20);
  EXPECT_EQ(pool.available(), 20);
  EXPECT_EQ(pool.block_bytes(), kBytes);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(pool.allocate());
    EXPECT_EQ(pool.available(), 19 - i);
    EXPECT_TRUE(holds(blocks.back(), std::byte{0}));
    // Kernels read a block's rows with aligned loads.
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % 64, 0u);
    std::fill_n(blocks.back(), kBytes, static_cast<std::byte>(i + 1));
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(holds(blocks[static_cast<size_t>(i)], static_cast<std::byte>(i + 1)));
  }
}

TEST(BlockPool, AnEmptyPoolIsAnErrorThatChangesNothing) {
  BlockPool pool(kBytes, 3);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(pool.allocate());
  for (int i = 0; i < 2; ++i) {
    try {
      pool.allocate();
      ADD_FAILURE() << "a fourth block of three";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted);
      EXPECT_THAT(error.what(), HasSubstr("3 cache blocks"));
    }
    EXPECT_EQ(pool.available(), 0);
  }
  pool.release(blocks[1]);
  EXPECT_EQ(pool.available(), 1);
  EXPECT_EQ(pool.allocate(), blocks[1]);
  EXPECT_THROW(BlockPool(kBytes, 0).allocate(), Error);
}

// Against a plain account of who owns what.
TEST(BlockPool, BlocksThatComeBackAreZeroedAndOwnedOnce) {
  constexpr int kBlocks = 12;
  BlockPool pool(kBytes, kBlocks);
  std::vector<std::byte*> owned;
  std::set<std::byte*> ever;
  std::mt19937 random(7);
  for (int step = 0; step < 3000; ++step) {
    if (owned.size() == kBlocks || (!owned.empty() && random() % 2 == 0)) {
      const size_t which = random() % owned.size();
      pool.release(owned[which]);
      owned.erase(owned.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      std::byte* block = pool.allocate();
      ASSERT_TRUE(holds(block, std::byte{0})) << step;
      ASSERT_EQ(std::count(owned.begin(), owned.end(), block), 0) << step;
      std::fill_n(block, kBytes, static_cast<std::byte>(1 + random() % 255));
      owned.push_back(block);
      ever.insert(block);
    }
    ASSERT_EQ(pool.available(), kBlocks - static_cast<int>(owned.size()));
  }
  EXPECT_EQ(ever.size(), static_cast<size_t>(kBlocks));
}

TEST(BlockPool, MemoryThatCannotBeHadIsAnError) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  using Size = std::pair<size_t, int32_t>;
  for (const auto& [bytes, blocks] : {Size{kMost, 1}, Size{kMost / 2 + 1, 2},
                                      Size{kMost, INT32_MAX}, Size{size_t{1} << 50, 1 << 20}}) {
    try {
      const BlockPool pool(bytes, blocks);
      ADD_FAILURE() << bytes << " × " << blocks;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted) << error.what();
    }
  }
  EXPECT_THROW(BlockPool(kBytes, -1), Error);
}

TEST(BlockPool, ReleasingWhatIsNotInUseIsCaught) {
  BlockPool pool(kBytes, 2);
  std::byte* block = pool.allocate();
  EXPECT_THROW(pool.release(block + 64), Error);
  pool.release(block);
  EXPECT_THROW(pool.release(block), Error);
  EXPECT_THROW(pool.retain(block), Error);
  EXPECT_THROW(pool.keep(block), Error);
  std::byte other[kBytes];
  EXPECT_THROW(pool.release(other), Error);
  EXPECT_EQ(pool.available(), 2);
}

TEST(BlockPool, KeptBlocksOutliveTheirOwnersUntilTheirPlaceIsNeeded) {
  std::vector<std::byte*> evicted;
  BlockPool pool(kBytes, 3, [&](std::byte* block) { evicted.push_back(block); });
  std::byte* first = pool.allocate();
  std::byte* second = pool.allocate();
  for (std::byte* block : {first, second}) {
    std::fill_n(block, kBytes, std::byte{7});
    pool.keep(block);
  }
  pool.retain(second);
  pool.release(second);
  EXPECT_EQ(pool.available(), 1);
  pool.release(second);
  pool.release(first);
  EXPECT_EQ(pool.available(), 3);
  EXPECT_TRUE(holds(first, std::byte{7}));
  std::byte* third = pool.allocate();  // never used before
  EXPECT_TRUE(evicted.empty());
  pool.retain(first);
  EXPECT_EQ(pool.available(), 1);
  EXPECT_EQ(pool.allocate(), second);
  EXPECT_EQ(evicted, (std::vector{second}));
  EXPECT_TRUE(holds(second, std::byte{0}));
  EXPECT_TRUE(holds(first, std::byte{7}));
  pool.release(third);  // not kept
  EXPECT_EQ(pool.allocate(), third);
}

}  // namespace
}  // namespace adze::kvcache
