// Attention against softmax in double precision, and every way of computing a row against every
// other, bit for bit.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

  AttentionTile tile(int32_t kv_head, std::span<const AttentionRow> rows) const {
    return {&layout, blocks, 0, kv_head, 0.3f, rows};
  }

  std::vector<double> exact(const float* query, int32_t first, int32_t position,
                            int32_t kv_head) const {
    const auto dims = static_cast<size_t>(layout.head_dim);
    const auto at = [&](int32_t t) {
      return (static_cast<size_t>(t * layout.kv_heads + kv_head)) * dims;
    };
    std::vector<double> scores;
    for (int32_t t = first; t <= position; ++t) {
      double score = 0;
      for (size_t d = 0; d < dims; ++d) score += static_cast<double>(query[d]) * keys[at(t) + d];
      scores.push_back(score * 0.3);
    }
    const double highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    std::vector<double> out(dims);
    for (int32_t t = first; t <= position; ++t) {
      const double weight = std::exp(scores[static_cast<size_t>(t - first)] - highest);
      sum += weight;
      for (size_t d = 0; d < dims; ++d) out[d] += weight * values[at(t) + d];
    }
    for (double& v : out) v /= sum;
    return out;
  }
};

// All segments of the tile in one call after another, then the combination.
void attend(const AttentionKernels& kernels, const AttentionTile& tile) {
  const auto dims = tile.layout->head_dim;
  const size_t stride = partial_floats(dims);
  const int32_t begin = segment_of(tile.rows.front().first);
  const int32_t segments = segment_of(tile.rows.back().position) - begin + 1;
  std::vector<float> partials(stride * tile.rows.size() * static_cast<size_t>(segments));
  for (int32_t s = 0; s < segments; ++s) {
    kernels.segment(tile, begin + s, partials.data() + static_cast<size_t>(s) * stride,
                    stride * static_cast<size_t>(segments));
  }
  for (size_t r = 0; r < tile.rows.size(); ++r) {
    const int32_t first = segment_of(tile.rows[r].first);
    kernels.combine(
        partials.data() +
            (r * static_cast<size_t>(segments) + static_cast<size_t>(first - begin)) * stride,
        stride, segment_of(tile.rows[r].position) - first + 1, dims, tile.rows[r].out);
  }
}

class AttentionTest : public testing::TestWithParam<CacheDType> {};

TEST_P(AttentionTest, EqualsSoftmaxInDoublePrecision) {
  const Sequence sequence(GetParam(), 700, 2, 64);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> query(64);
  std::vector<float> out(64);
  for (const int32_t position : {0, 1, 14, 15, 16, 31, 32, 200, 255, 256, 257, 511, 512, 699}) {
    for (float& v : query) v = normal(random);
    for (const int32_t window : {700, 1, 2, 16, 33, 100, 256, 300, 512}) {
      const int32_t first = std::max(0, position - window + 1);
      const AttentionRow row = {query.data(), first, position, out.data()};
      attend(kAttentionReference, sequence.tile(1, {&row, 1}));
      const std::vector<double> exact = sequence.exact(query.data(), first, position, 1);
      // int8: queries and weights are codes of 15 and 16 bits.
      const double tolerance = GetParam() == CacheDType::kI8 ? 4e-4 : 3e-6;
      for (size_t d = 0; d < 64; ++d) {
        EXPECT_NEAR(out[d], exact[d], tolerance) << position << ", window " << window;
      }
    }
  }
}

TEST_P(AttentionTest, TilesAndInstructionSetsDoNotChangeBits) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  constexpr size_t kRows = kMaxAttentionRows;
  std::vector<float> queries(kRows * 80);
  for (float& v : queries) v = normal(random);
  struct Case {
    int32_t position;  // of the first row
    int32_t window;
  };
  for (const auto [first, window] :
       {Case{0, 600}, Case{29, 600}, Case{250, 600}, Case{254, 600}, Case{500, 600}, Case{592, 600},
        Case{29, 3}, Case{254, 30}, Case{300, 41}, Case{500, 256}, Case{509, 250}, Case{592, 1},
        Case{592, 300}}) {
    Sequence sequence(GetParam(), 600, 1, 80);
    const auto row_at = [&](size_t r, float* out) {
      const int32_t position = first + static_cast<int32_t>(r);
      return AttentionRow{queries.data() + r * 80, std::max(0, position - window + 1), position,
                          out};
    };
    // What fell out of the window is gone.
    const int32_t gone = row_at(0, nullptr).first / kCacheTokens;
    std::fill_n(sequence.blocks.begin(), gone, nullptr);
    std::vector<float> alone(kRows * 80);
    for (size_t r = 0; r < kRows; ++r) {
      const AttentionRow row = row_at(r, alone.data() + r * 80);
      attend(kAttentionReference, sequence.tile(0, {&row, 1}));
    }
    for (const auto& k : runnable()) {
      for (size_t size = 1; size <= kRows; ++size) {
        std::vector<float> out(size * 80);
        std::vector<AttentionRow> rows;
        rows.reserve(size);
        for (size_t r = 0; r < size; ++r) rows.push_back(row_at(r, out.data() + r * 80));
        attend(*k.kernels, sequence.tile(0, rows));
        for (size_t i = 0; i < out.size(); ++i) {
          ASSERT_EQ(out[i], alone[i])
              << k.name << " tile of " << size << " from " << first << ", window " << window;
        }
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
          const AttentionRow row = {query.data(), first, position, out.data()};
          attend(*k.kernels, sequence.tile(0, {&row, 1}));
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
      const AttentionRow row = {query.data(), 0, kTokens - 1, out.data()};
      attend(*k.kernels, sequence.tile(0, {&row, 1}));
      EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](float v) { return !std::isfinite(v); }))
          << k.name << " query " << odd;
    }
  }
}

// Ordinary rows, and what rounding treats apart: ties, subnormal numbers, infinities, NaN, zeros.
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
