// The team of threads: everyone runs, everyone sees what was written before a barrier, and nothing
// hangs when there are more members than CPUs.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace adze {
namespace {

TEST(ThreadPool, EveryMemberRunsOnceInEveryRun) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadPool pool(size);
    ASSERT_EQ(pool.size(), size);
    std::vector<int> calls(static_cast<size_t>(size));
    for (int run = 0; run < 500; ++run) {
      pool.run([&](int member) { ++calls[static_cast<size_t>(member)]; });
    }
    for (const int count : calls) EXPECT_EQ(count, 500);
  }
}

// Plain memory written before a barrier is read by all after it: a chain in which each step needs
// what every other member wrote in the step before.
TEST(Barrier, WhatWasWrittenBeforeIsSeenAfter) {
  for (const int size : {2, 3, 5}) {
    ThreadPool pool(size);
    std::vector<uint64_t> values[2] = {std::vector<uint64_t>(static_cast<size_t>(size), 1),
                                       std::vector<uint64_t>(static_cast<size_t>(size))};
    constexpr int kSteps = 300;
    pool.run([&](int member) {
      for (int step = 0; step < kSteps; ++step) {
        const auto& from = values[step % 2];
        const uint64_t sum = std::accumulate(from.begin(), from.end(), uint64_t{0});
        values[(step + 1) % 2][static_cast<size_t>(member)] = sum % 1000003 + uint64_t(member);
        pool.barrier().wait();
      }
    });
    // The same chain alone.
    std::vector<uint64_t> expected(static_cast<size_t>(size), 1);
    for (int step = 0; step < kSteps; ++step) {
      const uint64_t sum = std::accumulate(expected.begin(), expected.end(), uint64_t{0});
      for (int member = 0; member < size; ++member) {
        expected[static_cast<size_t>(member)] = sum % 1000003 + uint64_t(member);
      }
    }
    EXPECT_EQ(values[kSteps % 2], expected);
  }
}

TEST(ThreadPool, AnIdlePoolEnds) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool never_used(4);
    ThreadPool used(4);
    used.run([](int) {});
  }
}

TEST(MemberRange, PartsAreInOrderAndDisjointAndWhole) {
  for (const int64_t count : {0, 1, 5, 16, 17, 1000}) {
    for (const int members : {1, 2, 3, 7}) {
      for (const int64_t grain : {1, 4, 16}) {
        int64_t next = 0;
        for (int member = 0; member < members; ++member) {
          const Range range = member_range(count, member, members, grain);
          EXPECT_EQ(range.begin, next);
          EXPECT_GE(range.end, range.begin);
          EXPECT_TRUE(range.end == count || range.end % grain == 0);
          next = range.end;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

}  // namespace
}  // namespace adze
