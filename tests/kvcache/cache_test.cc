// The cache against a plain account: blocks carry the tokens that they stand for, so that whoever
// takes over the wrong one sees it.
#include "kvcache/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/base/counted_allocations.h"

namespace adze::kvcache {
namespace {

constexpr int32_t kBlock = 4;
constexpr size_t kBytes = 64;

// What a run of a plan does to the cache: a block's slot for each position, here the token itself
// and what came before it.
struct Runner {
  Cache& cache;
  std::string salt;
  std::vector<int32_t> tokens;
  int32_t computed = 0;
  std::unique_ptr<SequenceBlocks> blocks = std::make_unique<SequenceBlocks>(cache);
  int32_t sinks = 0;  // of groups with a window

  static uint32_t fingerprint(const std::string& salt, const std::vector<int32_t>& tokens,
                              int32_t position) {
    uint32_t hash = 2166136261u;
    for (const char c : salt) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    for (int32_t i = 0; i <= position; ++i) {
      hash = (hash ^ static_cast<uint32_t>(tokens[static_cast<size_t>(i)])) * 16777619u;
    }
    return hash;
  }

  // Everything that the row at `position` sees is there and is right.
  void check(const std::vector<int32_t>& windows, int32_t position) const {
    for (size_t group = 0; group < windows.size(); ++group) {
      const int32_t first = windows[group] == 0 ? 0 : std::max(0, position - windows[group] + 1);
      for (int32_t p = 0; p <= position; ++p) {
        if (p < first && p >= sinks) continue;
        const std::byte* block = blocks->table(group)[static_cast<size_t>(p / kBlock)];
        ASSERT_NE(block, nullptr) << "group " << group << ", position " << p << " of " << position;
        uint32_t seen = 0;
        std::memcpy(&seen, block + static_cast<size_t>(p % kBlock) * sizeof seen, sizeof seen);
        ASSERT_EQ(seen, fingerprint(salt, tokens, p)) << "group " << group << ", position " << p;
      }
    }
  }

  void run(const std::vector<int32_t>& windows, int32_t rows) {
    blocks->extend(computed + rows);
    for (int32_t p = computed; p < computed + rows; ++p) {
      const uint32_t value = fingerprint(salt, tokens, p);
      for (size_t group = 0; group < windows.size(); ++group) {
        std::byte* block = blocks->table(group)[static_cast<size_t>(p / kBlock)];
        std::memcpy(block + static_cast<size_t>(p % kBlock) * sizeof value, &value, sizeof value);
      }
    }
    for (int32_t p = computed; p < computed + rows; ++p) check(windows, p);
    computed += rows;
    blocks->computed(std::span(tokens).first(static_cast<size_t>(computed)));
  }
};

int32_t held(const SequenceBlocks& blocks, size_t group) {
  const auto table = blocks.table(group);
  return static_cast<int32_t>(table.size() -
                              static_cast<size_t>(std::count(table.begin(), table.end(), nullptr)));
}

std::vector<int32_t> numbers(int32_t count, int32_t first = 0) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

TEST(Cache, ABeginningIsComputedOnce) {
  const std::array<GroupSpec, 1> groups = {GroupSpec{kBytes, 20, 0}};
  Cache cache(groups, kBlock);
  Runner first{cache, "", numbers(18)};
  EXPECT_EQ(first.blocks->admit(first.tokens, 20, 8, ""), 0);
  first.run({0}, 18);
  // While the first still runs, and when it has ended: four full blocks.
  for (int i = 0; i < 2; ++i) {
    Runner second{cache, "", numbers(18)};
    EXPECT_EQ(second.blocks->admit(second.tokens, 20, 8, ""), 16);
    EXPECT_EQ(second.blocks->table(0).size(), 4u);
    first.blocks->clear();
  }
  EXPECT_EQ(cache.available(0), 20);
  Runner other_salt{cache, "tenant", numbers(18)};
  EXPECT_EQ(other_salt.blocks->admit(other_salt.tokens, 20, 8, "tenant"), 0);
  Runner other_text{cache, "", numbers(18, 1)};
  EXPECT_EQ(other_text.blocks->admit(other_text.tokens, 20, 8, ""), 0);
  // A prompt that is cached as a whole: its last token is computed all the same.
  Runner whole{cache, "", numbers(16)};
  EXPECT_EQ(whole.blocks->admit(whole.tokens, 20, 8, ""), 12);
}

TEST(Cache, AWindowHoldsItsBlocksAndNoMore) {
  const std::vector<int32_t> windows = {0, 10};
  const int32_t quota = sequence_quota(10, 0, 1000, 6, kBlock);
  EXPECT_EQ(quota, 5);  // 9 positions before 6 rows, 15 in all: from the last of a block, 5 blocks
  const std::array<GroupSpec, 2> groups = {GroupSpec{kBytes, 250, 0}, GroupSpec{kBytes, quota, 10}};
  Cache cache(groups, kBlock);
  Runner runner{cache, "", numbers(1000)};
  ASSERT_EQ(runner.blocks->admit(runner.tokens, 1000, 6, ""), 0);
  std::mt19937 random(1);
  while (runner.computed < 1000) {
    runner.run(windows,
               std::min<int32_t>(1 + static_cast<int32_t>(random() % 6), 1000 - runner.computed));
    EXPECT_LE(held(*runner.blocks, 1), quota);
  }
  EXPECT_EQ(held(*runner.blocks, 0), 250);
  // A conversation goes on: what its next row sees is still there.
  runner.blocks->clear();
  Runner next{cache, "", numbers(1003)};
  EXPECT_FALSE(next.blocks->admit(next.tokens, 1003, 6, ""));  // 251 blocks of 250
  next.tokens.resize(998);
  ASSERT_EQ(next.blocks->admit(next.tokens, 998, 6, ""), 996);
  next.computed = 996;
  next.run(windows, 2);
}

// The first blocks stay when the window has passed them, and what takes over a beginning has them.
TEST(Cache, SinksStay) {
  const std::vector<int32_t> windows = {0, 10};
  constexpr int32_t kSinks = 5;  // of two blocks
  const int32_t quota = sequence_quota(10, kSinks, 1000, 6, kBlock);
  EXPECT_EQ(quota, 7);
  const std::array<GroupSpec, 2> groups = {GroupSpec{kBytes, 500, 0, 0},
                                           GroupSpec{kBytes, 2 * quota, 10, kSinks}};
  Cache cache(groups, kBlock);
  Runner runner{cache, "", numbers(1000)};
  runner.sinks = kSinks;
  ASSERT_EQ(runner.blocks->admit(runner.tokens, 1000, 6, ""), 0);
  while (runner.computed < 996) {
    runner.run(windows, std::min(6, 996 - runner.computed));
    EXPECT_LE(held(*runner.blocks, 1), quota);
  }
  EXPECT_EQ(cache.available(1), 2 * quota - held(*runner.blocks, 1));
  Runner next{cache, "", numbers(1000)};
  next.sinks = kSinks;
  ASSERT_EQ(next.blocks->admit(next.tokens, 1000, 6, ""), 996);
  next.computed = 996;
  EXPECT_EQ(next.blocks->table(1)[0], runner.blocks->table(1)[0]);
  next.run(windows, 4);
  runner.blocks->clear();
  next.blocks->clear();
  EXPECT_EQ(cache.available(1), 2 * quota);
  // Others need the room.
  Runner other{cache, "another", numbers(300)};
  other.sinks = kSinks;
  ASSERT_EQ(other.blocks->admit(other.tokens, 300, 6, "another"), 0);
  while (other.computed < 300) other.run(windows, 6);
  other.blocks->clear();
  // Without their blocks, or the window's, a beginning is of no use.
  Runner again{cache, "", numbers(1000)};
  again.sinks = kSinks;
  const std::optional<int32_t> found = again.blocks->admit(again.tokens, 1000, 6, "");
  ASSERT_TRUE(found);
  again.computed = *found;
  while (again.computed < 1000) again.run(windows, std::min(6, 1000 - again.computed));
}

TEST(Cache, WhatIsSetAsideIsThereWhateverOthersDo) {
  const std::vector<int32_t> windows = {0, 6, 0};
  const std::array<GroupSpec, 3> groups = {GroupSpec{kBytes, 24, 0}, GroupSpec{kBytes, 14, 6},
                                           GroupSpec{kBytes, 30, 0}};
  Cache cache(groups, kBlock);
  std::mt19937 random(11);
  std::vector<std::unique_ptr<Runner>> running;
  int64_t reused = 0;
  int refused = 0;
  for (int step = 0; step < 20000; ++step) {
    if (running.size() < 6 && random() % 3 == 0) {
      // Few texts, so that they meet, and end at many places.
      auto runner = std::make_unique<Runner>(Runner{cache, random() % 4 == 0 ? "a" : "", {}});
      const size_t length = 2 + random() % 40;
      const auto text = static_cast<int32_t>(random() % 3);
      const size_t branch = random() % 40;
      for (size_t i = 0; i < length; ++i) {
        runner->tokens.push_back(i < branch ? text : text + 10);
      }
      const size_t prompt = 1 + random() % length;
      const auto hit = runner->blocks->admit(std::span(runner->tokens).first(prompt),
                                             static_cast<int64_t>(length), 5, runner->salt);
      if (!hit) {
        ASSERT_FALSE(running.empty()) << "an empty cache has room for one";
        ++refused;
        continue;
      }
      ASSERT_LT(*hit, static_cast<int32_t>(prompt));
      runner->computed = *hit;
      reused += *hit;
      running.push_back(std::move(runner));
      continue;
    }
    if (running.empty()) continue;
    const size_t which = random() % running.size();
    Runner& runner = *running[which];
    const auto left = static_cast<int32_t>(runner.tokens.size()) - runner.computed;
    if (left == 0 || random() % 20 == 0) {
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    runner.run(windows, std::min<int32_t>(left, 1 + static_cast<int32_t>(random() % 5)));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(reused, 1000);
  EXPECT_GT(refused, 100);
  running.clear();
  for (size_t group = 0; group < 3; ++group) {
    EXPECT_EQ(cache.available(group), groups[group].blocks);
  }
}

// Whatever allocation fails, blocks and promises are accounted for, nobody sees what is not theirs,
// and a sequence that was admitted goes on.
TEST(Cache, MemoryMayBeShortAnywhere) {
  const std::vector<int32_t> windows = {0, 6};
  const std::array<GroupSpec, 2> groups = {GroupSpec{kBytes, 12, 0}, GroupSpec{kBytes, 10, 6}};
  const FailedAllocations failed = fail_each_allocation([&] {
    Cache cache(groups, kBlock);
    for (int round = 0; round < 2; ++round) {
      Runner first{cache, "", numbers(18)};
      Runner second{cache, "", numbers(22)};
      for (Runner* runner : {&first, &second}) {
        const auto with_memory = [&](const auto& action) {
          try {
            action();
          } catch (const std::bad_alloc&) {
            action();
          }
        };
        with_memory([&] {
          const auto hit = runner->blocks->admit(runner->tokens, 22, 8, "");
          ASSERT_TRUE(hit);
          runner->computed = *hit;
        });
        while (runner->computed < static_cast<int32_t>(runner->tokens.size())) {
          with_memory([&] { runner->run(windows, 1); });
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
    for (size_t group = 0; group < groups.size(); ++group) {
      ASSERT_EQ(cache.available(group), groups[group].blocks);
    }
    // Nothing is promised to anybody either: one sequence can have everything.
    ASSERT_TRUE(SequenceBlocks(cache).admit(numbers(48), 48, 8, ""));
  });
  EXPECT_GT(failed.all, 50u);
}

// Where the window has lost its blocks, what others still have of the beginning is of no use.
TEST(Cache, TheLongestUsableBeginningIsFound) {
  const std::vector<int32_t> windows = {0, 6};
  const std::array<GroupSpec, 2> groups = {GroupSpec{kBytes, 120, 0}, GroupSpec{kBytes, 12, 6}};
  Cache cache(groups, kBlock);
  Runner runner{cache, "", numbers(400)};
  ASSERT_EQ(runner.blocks->admit(runner.tokens, 400, 4, ""), 0);
  while (runner.computed < 400) runner.run(windows, 4);
  runner.blocks->clear();
  // The window's blocks were written over again and again: only the last are left.
  Runner longer{cache, "", numbers(402)};
  EXPECT_EQ(longer.blocks->admit(longer.tokens, 402, 4, ""), 400);
  longer.blocks->clear();
  Runner middle{cache, "", numbers(201)};
  EXPECT_EQ(middle.blocks->admit(middle.tokens, 201, 4, ""), 0);
}

}  // namespace
}  // namespace adze::kvcache
