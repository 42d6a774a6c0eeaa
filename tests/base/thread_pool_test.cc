// Teams of threads: every member runs, every time, and all of them meet. Under ThreadSanitizer too.
#include "base/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/error.h"

namespace adze {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Alone, few, and more than this machine can run at once.
std::vector<int> team_sizes() { return {1, 2, 3, 4, 2 * available_cpus() + 3}; }

TEST(ThreadPool, EveryMemberRunsOnceOnAThreadOfItsOwn) {
  for (const int size : team_sizes()) {
    ThreadPool pool(size);
    ASSERT_EQ(pool.size(), size);
    // Not atomic: what members write is visible when run() has returned.
    std::vector<int> runs(static_cast<size_t>(size), 0);
    std::vector<std::thread::id> threads(static_cast<size_t>(size));
    pool.run([&](int member) {
      ++runs[static_cast<size_t>(member)];
      threads[static_cast<size_t>(member)] = std::this_thread::get_id();
    });
    EXPECT_THAT(runs, Each(1)) << size;
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    for (size_t i = 0; i < threads.size(); ++i) {
      for (size_t j = 0; j < i; ++j) EXPECT_NE(threads[i], threads[j]);
    }
  }
}

TEST(ThreadPool, ThousandsOfRunsLoseNoMember) {
  for (const int size : team_sizes()) {
    ThreadPool pool(size);
    const int rounds = size <= available_cpus() ? 5000 : 1000;
    std::vector<int> runs(static_cast<size_t>(size), 0);
    for (int round = 0; round < rounds; ++round) {
      int caller = 0;  // members of one run must not touch the state of the next
      pool.run([&, round](int member) {
        if (runs[static_cast<size_t>(member)] == round) ++runs[static_cast<size_t>(member)];
        if (member == 0) caller = 1;
      });
      ASSERT_EQ(caller, 1);
    }
    EXPECT_THAT(runs, Each(rounds)) << size;
  }
}

TEST(ThreadPool, MembersThatSleptRunToo) {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    // Longer than the spinning, so that the members wait in the kernel.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::vector<int> runs(4, 0);
    pool.run([&](int member) { ++runs[static_cast<size_t>(member)]; });
    EXPECT_THAT(runs, Each(1));
  }
}

TEST(ThreadPool, EndsWithoutARunAndWhileIdle) {
  for (int round = 0; round < 200; ++round) {
    ThreadPool unused(3);
    ThreadPool idle(3);
    std::atomic<int> runs = 0;
    idle.run([&](int) { ++runs; });
    EXPECT_EQ(runs, 3);
  }
}

TEST(ThreadPool, AMemberMayRunAnotherPool) {
  ThreadPool outer(3);
  std::vector<int> runs(9, 0);
  for (int round = 0; round < 50; ++round) {
    outer.run([&](int member) {
      ThreadPool inner(3);
      inner.run([&](int nested) { ++runs[static_cast<size_t>(member * 3 + nested)]; });
    });
  }
  EXPECT_THAT(runs, Each(50));
}

TEST(ThreadPool, ZeroIsOnePerCpuOfThisProcess) {
  EXPECT_EQ(ThreadPool(0).size(), available_cpus());
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_cpus(), 1);
  EXPECT_EQ(ThreadPool(0).size(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(ThreadPool, RefusesSizesOutOfRange) {
  for (const int size : {-1, 1025, INT32_MIN, INT32_MAX}) {
    EXPECT_THAT([&] { ThreadPool pool(size); },
                ThrowsMessage<Error>(AllOf(HasSubstr("threads"), HasSubstr(std::to_string(size)))));
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need the address space
TEST(ThreadPool, ASystemWithoutMoreThreadsIsAnError) {
  // Stacks of 8 MiB: some of a thousand threads find no place.
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const struct rlimit little { 1u << 30, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
  try {
    ThreadPool pool(1024);
    ADD_FAILURE() << "1024 threads in 1 GiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kResourceExhausted);
    EXPECT_THAT(error.what(), HasSubstr("threads"));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
}
#endif

// Each round every member writes its own place and reads all of them after the barrier.
TEST(Barrier, WhatWasWrittenBeforeIsSeenAfter) {
  for (const int size : team_sizes()) {
    ThreadPool pool(size);
    const int rounds = size <= available_cpus() ? 1000 : 200;
    std::vector<int> written(static_cast<size_t>(size), -1);
    std::vector<int> wrong(static_cast<size_t>(size), 0);
    pool.run([&](int member) {
      for (int round = 0; round < rounds; ++round) {
        written[static_cast<size_t>(member)] = round;
        pool.barrier().wait();
        for (const int value : written) {
          if (value != round) ++wrong[static_cast<size_t>(member)];
        }
        pool.barrier().wait();
      }
    });
    EXPECT_THAT(wrong, Each(0)) << size;
    EXPECT_THAT(written, Each(rounds - 1)) << size;
  }
}

// A counter on one side of the barrier only: nobody is a round ahead.
TEST(Barrier, NobodyPassesBeforeTheLastHasCome) {
  constexpr int kThreads = 5;
  constexpr uint32_t kRounds = 500;
  Barrier barrier(kThreads, 10);
  std::atomic<uint32_t> arrivals = 0;
  std::atomic<int> early = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        arrivals.fetch_add(1, std::memory_order_relaxed);
        barrier.wait();
        if (arrivals.load(std::memory_order_relaxed) < round * kThreads) ++early;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(early, 0);
  EXPECT_EQ(arrivals, kRounds * kThreads);
}

TEST(MemberRange, PartsCoverAllItemsInOrder) {
  for (const int64_t grain : {1, 2, 8, 48}) {
    for (const int members : {1, 2, 3, 7, 16, 1024}) {
      for (const int64_t count : {0, 1, 7, 8, 9, 48, 95, 1536, 49152}) {
        int64_t next = 0;
        int64_t smallest = INT64_MAX;
        int64_t largest = 0;
        for (int member = 0; member < members; ++member) {
          const Range range = member_range(count, member, members, grain);
          EXPECT_EQ(range.begin, next);
          EXPECT_GE(range.size(), 0);
          EXPECT_TRUE(range.end == count || range.end % grain == 0);
          next = range.end;
          const int64_t grains = (range.size() + grain - 1) / grain;
          smallest = std::min(smallest, grains);
          largest = std::max(largest, grains);
        }
        EXPECT_EQ(next, count);
        EXPECT_LE(largest - smallest, 1) << count << " by " << members << " grain " << grain;
      }
    }
  }
}

}  // namespace
}  // namespace adze
