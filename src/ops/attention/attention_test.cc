// Attention against softmax in double precision, and every way of computing a row against every
// other, bit for bit.
#include "ops/attention/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ops/attention/pattern.h"
#include "ops/runnable_kernels.h"
#include "tensor/dtype.h"

namespace adze::ops {

extern const AttentionKernels kAttentionEmulated;  // the AVX-512 kernels through SIMDe

namespace {

std::vector<NamedKernels<AttentionKernels>> runnable() {
  return runnable_kernels(attention_kernel_tables(), kAttentionEmulated);
}

// A sequence in a cache whose blocks lie in random order.
struct Sequence {
  CacheLayout layout;
  int32_t tokens;
  std::vector<float> keys;  // [tokens, kv_heads, head_dim], as the cache holds them
  std::vector<float> values;
  std::vector<std::byte> memory;
  std::vector<std::byte*> blocks;

  Sequence(CacheDType dtype, int32_t count, int32_t kv_heads, int32_t head_dim)
      : layout{dtype, kv_heads, head_dim}, tokens(count) {
    std::mt19937 random(static_cast<uint32_t>(count));
    std::normal_distribution<float> normal;
    const auto row = static_cast<size_t>(kv_heads * head_dim);
    keys.resize(row * static_cast<size_t>(count));
    values.resize(keys.size());
    for (float& v : keys) v = normal(random);
    for (float& v : values) v = normal(random);
    const auto block_count = static_cast<size_t>((count + kCacheTokens - 1) / kCacheTokens);
    memory.resize(block_count * layout.block_bytes());
    std::vector<size_t> order(block_count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t b : order) blocks.push_back(memory.data() + b * layout.block_bytes());
    for (int32_t t = 0; t < count; ++t) {
      kAttentionReference.write_kv(layout, blocks[static_cast<size_t>(t / kCacheTokens)],
                                   t % kCacheTokens, keys.data() + static_cast<size_t>(t) * row,
                                   values.data() + static_cast<size_t>(t) * row);
    }
    if (dtype == CacheDType::kBF16) {
      for (float& v : keys) v = bf16_to_f32(f32_to_bf16(v));
      for (float& v : values) v = bf16_to_f32(f32_to_bf16(v));
    }
    if (dtype == CacheDType::kI8) {
      read_i8();
    }
  }

  // Keys and values as the description of the layout says that they are stored; each within half a
  // step of what was written.
  void read_i8() {
    const auto dims = static_cast<size_t>(layout.head_dim);
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t d = i % dims;
      const size_t head = i / dims % static_cast<size_t>(layout.kv_heads);
      const size_t token = i / dims / static_cast<size_t>(layout.kv_heads);
      const size_t t = token % 32;
      const std::byte* base = blocks[token / 32] + head * layout.head_bytes();
      float scales[2];
      std::memcpy(&scales[0], base + 64 * dims + 4 * t, 4);
      std::memcpy(&scales[1], base + 64 * dims + 128 + 4 * t, 4);
      const int key = std::to_integer<int>(base[d / 4 * 128 + 4 * t + d % 4]) - 128;
      const auto value = static_cast<int8_t>(base[32 * dims + t / 4 * 4 * dims + 4 * d + t % 4]);
      const float stored_key = static_cast<float>(key) * scales[0];
      const float stored_value = static_cast<float>(value) * scales[1];
      EXPECT_NEAR(stored_key, keys[i], scales[0] * 0.50001f);
      EXPECT_NEAR(stored_value, values[i], scales[1] * 0.50001f);
      keys[i] = stored_key;
      values[i] = stored_value;
    }
  }

  // Scores have a standard deviation of 2.4, whatever the head's size.
  float scale() const { return 2.4f / std::sqrt(static_cast<float>(layout.head_dim)); }

  AttentionTile tile(int32_t kv_head, std::span<const AttentionRow> rows) const {
    return {&layout, blocks, 0, kv_head, scale(), rows};
  }

  std::vector<double> exact(const float* query, std::span<const KeyRange> seen,
                            int32_t kv_head) const {
    const auto dims = static_cast<size_t>(layout.head_dim);
    std::vector<int32_t> positions;
    for (const KeyRange& range : seen) {
      for (int32_t t = range.from; t < range.to; ++t) positions.push_back(t);
    }
    const auto at = [&](int32_t t) {
      return (static_cast<size_t>(t * layout.kv_heads + kv_head)) * dims;
    };
    std::vector<double> scores;
    for (const int32_t t : positions) {
      double score = 0;
      for (size_t d = 0; d < dims; ++d) score += static_cast<double>(query[d]) * keys[at(t) + d];
      scores.push_back(score * scale());
    }
    const double highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    std::vector<double> out(dims);
    for (size_t i = 0; i < positions.size(); ++i) {
      const double weight = std::exp(scores[i] - highest);
      sum += weight;
      for (size_t d = 0; d < dims; ++d) out[d] += weight * values[at(positions[i]) + d];
    }
    for (double& v : out) v /= sum;
    return out;
  }
};

// All segments of the tile, one after another.
void attend(const AttentionKernels& kernels, const AttentionTile& tile) {
  const auto dims = tile.layout->head_dim;
  const size_t stride = partial_floats(dims);
  std::vector<float> partials(stride * tile.rows.size());
  std::vector<float> sums(partials.size());
  clear_partials(sums.data(), stride, tile.rows.size(), dims);
  for (int32_t s = next_segment(tile.rows, 0); s >= 0; s = next_segment(tile.rows, s + 1)) {
    kernels.segment(tile, s, partials.data(), stride);
    kernels.fold(tile, s, partials.data(), stride, sums.data(), stride);
  }
  kernels.finish(tile, sums.data(), stride);
}

// One row that sees the keys of `seen`.
void attend(const AttentionKernels& kernels, const Sequence& sequence, int32_t kv_head,
            const float* query, std::span<const KeyRange> seen, float* out) {
  const AttentionRow row = {query, seen, out};
  attend(kernels, sequence.tile(kv_head, {&row, 1}));
}

// Whether products of bf16 go through the machine's own dot products, whose rounding is not that of
// float fmas.
bool rounds_its_own_way(const NamedKernels<AttentionKernels>& k, CacheDType dtype) {
  return dtype == CacheDType::kBF16 && k.name == "amx";
}

double tolerance(const NamedKernels<AttentionKernels>& k, CacheDType dtype) {
  // Queries and weights are codes of 15 and 16 bits.
  if (dtype == CacheDType::kI8) return 4e-4;
  // Queries and weights are sums of two bf16, within 2⁻¹⁷ of themselves. Rounding the query changes
  // a score of 2.4 (one standard deviation) by 2.4 · 2⁻¹⁷ / √3, and a result by about as much; four
  // times that.
  if (rounds_its_own_way(k, dtype)) return 4e-5;
  return 4e-6;
}

// Blocks that no row sees are gone: whoever reads one all the same dies.
template <class RowAt>
void hide_unseen_blocks(Sequence& sequence, size_t rows, RowAt row_at) {
  std::vector<bool> seen(sequence.blocks.size());
  for (size_t r = 0; r < rows; ++r) {
    for (const KeyRange& range : row_at(r, nullptr).seen) {
      for (int32_t t = range.from; t < range.to; ++t) {
        seen[static_cast<size_t>(t / kCacheTokens)] = true;
      }
    }
  }
  for (size_t b = 0; b < seen.size(); ++b) {
    if (!seen[b]) sequence.blocks[b] = nullptr;
  }
}

class AttentionTest : public testing::TestWithParam<CacheDType> {};

TEST_P(AttentionTest, EqualsSoftmaxInDoublePrecision) {
  // A step of 16 dimensions, several, and more than the kernels take at once.
  for (const int32_t dims : {16, 64, 80, 144}) {
    const Sequence sequence(GetParam(), 700, 2, dims);
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> query(static_cast<size_t>(dims));
    std::vector<float> out(query.size());
    for (const int32_t position : {0, 1, 14, 15, 16, 31, 32, 200, 255, 256, 257, 511, 512, 699}) {
      for (float& v : query) v = normal(random);
      for (const int32_t window : {0, 1, 2, 16, 33, 100, 256, 300, 512}) {
        const int32_t globals[] = {20, 255, 256, 300};
        for (const AttentionPattern& pattern :
             {AttentionPattern{window, 0, {}}, AttentionPattern{window, 4, globals}}) {
          KeyRange ranges[6];
          const std::span seen(ranges, visible_ranges(pattern, position, ranges));
          const std::vector<double> exact = sequence.exact(query.data(), seen, 1);
          for (const auto& k : runnable()) {
            attend(*k.kernels, sequence, 1, query.data(), seen, out.data());
            for (size_t d = 0; d < out.size(); ++d) {
              ASSERT_NEAR(out[d], exact[d], tolerance(k, GetParam()))
                  << k.name << " at " << position << ", window " << window;
            }
          }
        }
      }
    }
  }
}

// Tiles of 1 to kMaxAttentionRows rows, and rows anywhere in them, against each row alone.
TEST_P(AttentionTest, TilesAndInstructionSetsDoNotChangeBits) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  constexpr size_t kRows = kMaxAttentionRows;
  constexpr size_t kDims = 80;
  std::vector<float> queries(kRows * kDims);
  for (float& v : queries) v = normal(random);
  const int32_t globals[] = {100, 300, 520};
  struct Case {
    int32_t position;  // of the first row
    AttentionPattern pattern;
  };
  for (const auto& [first, pattern] :
       {Case{0, {}}, Case{29, {}}, Case{250, {}}, Case{254, {}}, Case{500, {}}, Case{592, {}},
        Case{29, {3, 0, {}}}, Case{254, {30, 0, {}}}, Case{300, {41, 4, {}}},
        Case{500, {256, 1, {}}}, Case{509, {250, 33, {}}}, Case{592, {1, 4, globals}},
        Case{592, {300, 0, globals}}}) {
    Sequence sequence(GetParam(), 600 + static_cast<int32_t>(kRows), 1, kDims);
    std::vector<KeyRange> ranges(kRows * pattern.max_ranges());
    const auto row_at = [&](size_t r, float* out) {
      KeyRange* own = ranges.data() + r * pattern.max_ranges();
      const size_t count = visible_ranges(pattern, first + static_cast<int32_t>(r), own);
      return AttentionRow{queries.data() + r * kDims, {own, count}, out};
    };
    hide_unseen_blocks(sequence, kRows, row_at);
    std::vector<float> expected(kRows * kDims);
    for (const auto& k : runnable()) {
      std::vector<float> alone(kRows * kDims);
      for (size_t r = 0; r < kRows; ++r) {
        const AttentionRow row = row_at(r, alone.data() + r * kDims);
        attend(*k.kernels, sequence.tile(0, {&row, 1}));
      }
      if (!rounds_its_own_way(k, GetParam())) {
        if (k.kernels == &kAttentionReference) expected = alone;
        ASSERT_EQ(alone, expected) << k.name << " from " << first;
      }
      const std::vector<size_t> quick = {2, 3, 4, 5, 8, 12, 15, 16, 17, 31, 33, 63, 64};
      const std::vector<size_t> slow = {3, 12, 21};
      const bool vectors = k.kernels != &kAttentionReference && k.kernels != &kAttentionEmulated;
      for (const size_t size : vectors ? quick : slow) {
        for (const size_t offset : {size_t{0}, size_t{7}, kRows - size}) {
          if (offset + size > kRows) continue;
          std::vector<float> out(size * kDims);
          std::vector<AttentionRow> rows;
          rows.reserve(size);
          for (size_t r = 0; r < size; ++r) {
            rows.push_back(row_at(offset + r, out.data() + r * kDims));
          }
          attend(*k.kernels, sequence.tile(0, rows));
          for (size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i], alone[offset * kDims + i])
                << k.name << " tile of " << size << " from " << first << " + " << offset
                << ", window " << pattern.window;
          }
        }
      }
    }
  }
}

// What a row does not see must not reach it, number or not, whoever is in its tile.
TEST_P(AttentionTest, WhatIsNotFiniteStaysWithThoseWhoSeeIt) {
  constexpr size_t kRows = 20;
  constexpr size_t kDims = 48;
  std::vector<float> queries(kRows * kDims, 0.25f);
  for (const int32_t window : {0, 9}) {
    Sequence sequence(GetParam(), 300, 1, kDims);
    const std::vector<float> odd(kDims, NAN);
    kAttentionReference.write_kv(sequence.layout, sequence.blocks[8], 5, odd.data(), odd.data());
    for (const auto& k : runnable()) {
      std::vector<float> together(kRows * kDims);
      std::vector<float> alone(kRows * kDims);
      KeyRange ranges[kRows][2];
      std::vector<AttentionRow> rows;
      for (size_t r = 0; r < kRows; ++r) {
        const AttentionPattern pattern = {window, 2, {}};
        const size_t count = visible_ranges(pattern, 254 + static_cast<int32_t>(r), ranges[r]);
        rows.push_back(
            {queries.data() + r * kDims, {ranges[r], count}, together.data() + r * kDims});
        attend(*k.kernels, sequence, 0, queries.data() + r * kDims, rows.back().seen,
               alone.data() + r * kDims);
      }
      attend(*k.kernels, sequence.tile(0, rows));
      for (size_t i = 0; i < together.size(); ++i) {
        const int32_t position = 254 + static_cast<int32_t>(i / kDims);
        const bool reached = position >= 261 && (window == 0 || position - window < 261);
        ASSERT_EQ(std::isfinite(alone[i]), !reached) << k.name << " at " << position;
        ASSERT_EQ(std::isfinite(together[i]), !reached) << k.name << " at " << position;
        if (reached) continue;
        ASSERT_EQ(together[i], alone[i]) << k.name << " at " << position;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CacheDTypes, AttentionTest,
                         testing::Values(CacheDType::kF32, CacheDType::kBF16, CacheDType::kI8),
                         [](const auto& suite) {
                           return std::string(cache_dtype_name(suite.param));
                         });

// No code of an int8 cache stands for them; whoever attends to them must not get a number all the
// same.
TEST_P(AttentionTest, WhatIsNotFiniteStaysSo) {
  constexpr int32_t kTokens = 300;
  for (const float odd : {NAN, HUGE_VALF, -HUGE_VALF}) {
    for (const bool in_keys : {true, false}) {
      Sequence sequence(GetParam(), kTokens, 1, 64);
      std::vector<float> keys(sequence.keys.begin(), sequence.keys.begin() + 64);
      std::vector<float> values(sequence.values.begin(), sequence.values.begin() + 64);
      (in_keys ? keys : values)[37] = odd;
      kAttentionReference.write_kv(sequence.layout, sequence.blocks[8], 5, keys.data(),
                                   values.data());
      for (const auto& k : runnable()) {
        // Token 261 is the odd one: seen from there on, and while the window holds it.
        using Seen = std::pair<int32_t, int32_t>;
        for (const auto& [first, position] :
             {Seen{0, 260}, Seen{0, 261}, Seen{0, kTokens - 1}, Seen{261, kTokens - 1},
              Seen{262, kTokens - 1}, Seen{290, kTokens - 1}}) {
          std::vector<float> query(64, 0.5f);
          std::vector<float> out(64);
          const KeyRange range = {first, position + 1};
          attend(*k.kernels, sequence, 0, query.data(), {&range, 1}, out.data());
          const bool reached = first <= 261 && position >= 261;
          // A key of −∞ has weight zero in a cache that can hold it.
          if (in_keys && odd == -HUGE_VALF && GetParam() != CacheDType::kI8) continue;
          const bool any =
              std::any_of(out.begin(), out.end(), [](float v) { return !std::isfinite(v); });
          EXPECT_EQ(any, reached) << k.name << " " << odd << " at " << position;
        }
      }
    }
    const Sequence sequence(GetParam(), kTokens, 1, 64);
    for (const auto& k : runnable()) {
      std::vector<float> query(64, 0.5f);
      query[1] = odd;
      std::vector<float> out(64);
      const KeyRange range = {0, kTokens};
      attend(*k.kernels, sequence, 0, query.data(), {&range, 1}, out.data());
      EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](float v) { return !std::isfinite(v); }))
          << k.name << " query " << odd;
    }
  }
}

// Ordinary rows, and what rounding treats apart: ties, subnormal numbers, infinities, NaN, zeros.
TEST(Pattern, BlocksThatAreMaskedOutAreCutFromRanges) {
  // Blocks of 32 tokens; set are 0, 2, 3 and 64.
  const uint64_t mask[] = {0b1101, 1};
  const KeyRange seen[] = {{10, 70}, {90, 100}, {110, 140}, {2040, 4000}};
  KeyRange out[4 + 2 * 32];
  const size_t count = ranges_in_blocks(seen, mask, out);
  std::vector<std::pair<int32_t, int32_t>> found;
  found.reserve(count);
  for (size_t i = 0; i < count; ++i) found.emplace_back(out[i].from, out[i].to);
  EXPECT_THAT(found, testing::ElementsAre(testing::Pair(10, 32), testing::Pair(64, 70),
                                          testing::Pair(90, 100), testing::Pair(110, 128),
                                          testing::Pair(2048, 2080)));
  EXPECT_EQ(ranges_in_blocks({seen, 1}, {}, out), 0u);
}

TEST(WriteKv, IsTheSameEverywhere) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<float> keys(2 * 48);
  std::vector<float> values(keys.size());
  for (float& v : keys) v = normal(random);
  for (float& v : values) v = normal(random);
  const float odd[] = {0x1.01p0f,  0x1.03p0f, 0x1.0100002p0f, -0.0f, 0x1p-130f, HUGE_VALF,
                       -HUGE_VALF, NAN,       0x1.fffffep127f};
  std::copy(std::begin(odd), std::end(odd), keys.begin() + 48);
  std::copy(std::begin(odd), std::end(odd), values.begin() + 53);
  for (const CacheDType dtype : {CacheDType::kF32, CacheDType::kBF16, CacheDType::kI8}) {
    const CacheLayout layout{dtype, 2, 48};
    for (const int32_t slot : {0, 1, 30, 31}) {
      std::vector<std::byte> expected(layout.block_bytes());
      kAttentionReference.write_kv(layout, expected.data(), slot, keys.data(), values.data());
      for (const auto& k : runnable()) {
        std::vector<std::byte> block(layout.block_bytes());
        k.kernels->write_kv(layout, block.data(), slot, keys.data(), values.data());
        EXPECT_TRUE(block == expected) << k.name << ", " << cache_dtype_name(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace adze::ops
