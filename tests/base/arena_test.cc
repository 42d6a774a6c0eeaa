#include "base/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace adze {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

TEST(HugeBuffer, IsAlignedZeroedAndAsLargeAsAsked) {
  for (const size_t size :
       {size_t{1}, size_t{4096}, kHugePage - 1, kHugePage, kHugePage + 1, 3 * kHugePage + 12345}) {
    const HugeBuffer buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(buffer.bytes().size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kHugePage, 0u);
    const auto bytes = buffer.bytes();
    EXPECT_TRUE(
        std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
    // All of it can be written.
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  }
}

TEST(HugeBuffer, BuffersDoNotShareBytes) {
  std::vector<HugeBuffer> buffers;
  buffers.reserve(20);
  for (int i = 0; i < 20; ++i) buffers.emplace_back(static_cast<size_t>(i) * 300000 + 1);
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::fill_n(buffers[i].data(), buffers[i].size(), static_cast<std::byte>(i));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto bytes = buffers[i].bytes();
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(i)),
              static_cast<std::ptrdiff_t>(bytes.size()));
  }
}

TEST(HugeBuffer, NothingIsEmptyAndMovesLeaveTheBytes) {
  EXPECT_EQ(HugeBuffer().data(), nullptr);
  EXPECT_EQ(HugeBuffer(0).data(), nullptr);
  EXPECT_EQ(HugeBuffer(0).size(), 0u);
  HugeBuffer first(100);
  first.data()[99] = std::byte{7};
  const std::byte* place = first.data();
  HugeBuffer second(std::move(first));
  EXPECT_EQ(second.data(), place);
  HugeBuffer third;
  third = std::move(second);
  EXPECT_EQ(third.data(), place);
  EXPECT_EQ(third.size(), 100u);
  EXPECT_EQ(third.data()[99], std::byte{7});
}

// More than the address space, and sizes whose rounding up would wrap.
TEST(HugeBuffer, MemoryThatCannotBeHadIsAnError) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  for (const size_t size : {kMost, kMost - 1, kMost - kHugePage, kMost - 2 * kHugePage,
                            kMost - 2 * kHugePage + 1, kMost / 2, size_t{1} << 60}) {
    try {
      const HugeBuffer buffer(size);
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted) << error.what();
    }
  }
}

}  // namespace
}  // namespace adze
