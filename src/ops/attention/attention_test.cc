// Attention and the cache layout against a naive softmax in double precision over the cache as the
// layout's description says it is stored; and the promise that a row's bits depend on nothing else.
#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/attention/attention_kernels.h"
#include "ops/attention/attention_test_kernels.h"

namespace adze::ops {
namespace {

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Buffer zeroed(size_t bytes) {
  const size_t rounded = (bytes + 63) / 64 * 64;
  std::byte* p = static_cast<std::byte*>(std::aligned_alloc(64, rounded));
  std::memset(p, 0, rounded);
  return Buffer(p);
}

template <class T>
T load(const std::byte* p, size_t index) {
  T value;
  std::memcpy(&value, p + index * sizeof(T), sizeof(T));
  return value;
}

// Element (token slot t, dimension d) of a head, following the text in cache_layout.h.
double stored_key(const CacheLayout& layout, const std::byte* head, size_t t, size_t d) {
  const std::byte* keys = head + layout.keys_offset();
  switch (layout.dtype()) {
    case DType::kF32:
      return load<float>(keys, d * 32 + t);
    case DType::kBF16:
      return std::bit_cast<float>(
          static_cast<uint32_t>(load<uint16_t>(keys, d / 2 * 64 + t * 2 + d % 2)) << 16);
    default:
      return (load<uint8_t>(keys, d / 4 * 128 + t * 4 + d % 4) - 128) *
             static_cast<double>(load<float>(head + layout.scales_offset(), t));
  }
}

double stored_value(const CacheLayout& layout, const std::byte* head, size_t t, size_t d) {
  const std::byte* values = head + layout.values_offset();
  const size_t dim = static_cast<size_t>(layout.padded_dim());
  switch (layout.dtype()) {
    case DType::kF32:
      return load<float>(values, t * dim + d);
    case DType::kBF16:
      return std::bit_cast<float>(
          static_cast<uint32_t>(load<uint16_t>(values, t / 2 * dim * 2 + d * 2 + t % 2)) << 16);
    default:
      return load<int8_t>(values, t / 4 * dim * 4 + d * 4 + t % 4) *
             static_cast<double>(load<float>(head + layout.scales_offset(), 32 + t));
  }
}

std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> x(n);
  for (float& v : x) v = distribution(random);
  return x;
}

// The second of two layers of a sequence whose blocks lie in random order.
struct Sequence {
  CacheLayout layout;
  int tokens;
  Buffer pool;
  std::vector<std::byte*> table;
  std::vector<float> keys, values;

  Sequence(const CacheLayout& cache_layout, int token_count, uint32_t seed)
      : layout(cache_layout), tokens(token_count) {
    const size_t blocks = static_cast<size_t>(tokens + 31) / 32;
    pool = zeroed(blocks * 2 * layout.block_bytes());
    table.resize(blocks);
    std::vector<size_t> order(blocks);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    for (size_t b = 0; b < blocks; ++b) table[b] = pool.get() + order[b] * 2 * layout.block_bytes();
    const size_t row = static_cast<size_t>(layout.kv_heads() * layout.head_dim());
    keys = normal(row * static_cast<size_t>(tokens), seed + 1);
    values = normal(row * static_cast<size_t>(tokens), seed + 2);
    write(0, tokens);
  }

  void write(int first, int last) {
    const size_t row = static_cast<size_t>(layout.kv_heads() * layout.head_dim());
    for (int t = first; t < last; ++t) {
      write_kv(layout, table[static_cast<size_t>(t / 32)] + layout.block_bytes(), t % 32,
               keys.data() + static_cast<size_t>(t) * row,
               values.data() + static_cast<size_t>(t) * row);
    }
  }

  const std::byte* head(int t, int kv_head) const {
    return table[static_cast<size_t>(t / 32)] + layout.block_bytes() + layout.head_offset(kv_head);
  }

  AttentionContext context(int kv_head, int sinks = 0) const {
    return {&layout,
            table,
            layout.block_bytes(),
            kv_head,
            1.0f / std::sqrt(static_cast<float>(layout.head_dim())),
            sinks};
  }
};

std::vector<double> naive(const Sequence& s, const AttentionContext& c, const float* query,
                          VisibleRange visible) {
  const size_t dim = static_cast<size_t>(s.layout.head_dim());
  std::vector<double> scores(static_cast<size_t>(visible.end), -INFINITY);
  for (int t = 0; t < visible.end; ++t) {
    if (t < visible.begin && t >= c.sinks) continue;
    double dot = 0;
    for (size_t d = 0; d < dim; ++d) {
      dot += query[d] * stored_key(s.layout, s.head(t, c.kv_head), static_cast<size_t>(t % 32), d);
    }
    scores[static_cast<size_t>(t)] = dot * static_cast<double>(c.scale);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  std::vector<double> out(dim);
  for (int t = 0; t < visible.end; ++t) {
    const double p = std::exp(scores[static_cast<size_t>(t)] - largest);
    if (p == 0) continue;
    sum += p;
    for (size_t d = 0; d < dim; ++d) {
      out[d] += p * stored_value(s.layout, s.head(t, c.kv_head), static_cast<size_t>(t % 32), d);
    }
  }
  for (double& x : out) x /= sum;
  return out;
}

// Attends queries[i] (head_dim floats each) with ranges[i], `tile` rows at a time.
std::vector<float> attend(const AttentionKernel& kernel, const AttentionContext& context,
                          const std::vector<float>& queries,
                          const std::vector<VisibleRange>& ranges, size_t tile) {
  const size_t dim = static_cast<size_t>(context.layout->head_dim());
  std::vector<float> out(queries.size(), NAN);
  const size_t bytes = attention_scratch_bytes(*context.layout);
  const Buffer scratch = zeroed(bytes);
  // What a previous call left must not matter.
  std::memset(scratch.get(), 0xff, bytes);
  std::vector<AttentionRow> rows;
  for (size_t i = 0; i < ranges.size(); ++i) {
    rows.push_back({queries.data() + i * dim, out.data() + i * dim, ranges[i]});
    if (rows.size() == tile || i + 1 == ranges.size()) {
      attend_rows(kernel, context, rows, {scratch.get(), bytes});
      rows.clear();
    }
  }
  return out;
}

std::vector<VisibleRange> last_rows(int tokens, size_t rows, int window) {
  std::vector<VisibleRange> ranges;
  for (size_t i = 0; i < rows; ++i) {
    ranges.push_back(causal_range(std::max(0, tokens - static_cast<int>(rows - i)), window));
  }
  return ranges;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double tolerance(DType dtype) { return dtype == DType::kI8 ? 2.5e-4 : 1e-6; }

double worst_error(const Sequence& s, const AttentionContext& c, const std::vector<float>& queries,
                   const std::vector<VisibleRange>& ranges, const std::vector<float>& out) {
  const size_t dim = static_cast<size_t>(s.layout.head_dim());
  double worst = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::vector<double> right = naive(s, c, queries.data() + i * dim, ranges[i]);
    for (size_t d = 0; d < dim; ++d) {
      const double error = std::fabs(static_cast<double>(out[i * dim + d]) - right[d]);
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return worst;
}

const DType kCacheTypes[] = {DType::kF32, DType::kBF16, DType::kI8};

class CacheLayoutTest : public testing::TestWithParam<DType> {};
class AttentionTest : public testing::TestWithParam<DType> {};
std::string type_name(const testing::TestParamInfo<DType>& info) {
  return std::string(dtype_info(info.param).name);
}
INSTANTIATE_TEST_SUITE_P(Types, CacheLayoutTest, testing::ValuesIn(kCacheTypes), type_name);
INSTANTIATE_TEST_SUITE_P(Types, AttentionTest, testing::ValuesIn(kCacheTypes), type_name);

TEST_P(CacheLayoutTest, StoresWhatWasWritten) {
  for (const int dim : {16, 64, 80, 100}) {
    const Sequence s(CacheLayout(3, dim, GetParam()), 50, 7);
    const size_t n = static_cast<size_t>(dim);
    for (int t = 0; t < s.tokens; ++t) {
      for (int h = 0; h < 3; ++h) {
        const float* keys = s.keys.data() + static_cast<size_t>(t * 3 + h) * n;
        const float* values = s.values.data() + static_cast<size_t>(t * 3 + h) * n;
        const auto half_step = [&](const float* row, size_t d) {
          if (GetParam() == DType::kF32) return 0.0;
          // Half a unit in the last of eight significant bits.
          if (GetParam() == DType::kBF16) return std::ldexp(1.0, std::ilogb(row[d]) - 8);
          float largest = 0;
          for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(row[i]));
          return static_cast<double>(largest) / 254 * (1 + 1e-5);
        };
        for (size_t d = 0; d < n; ++d) {
          const size_t slot = static_cast<size_t>(t % 32);
          EXPECT_LE(
              std::fabs(stored_key(s.layout, s.head(t, h), slot, d) - static_cast<double>(keys[d])),
              half_step(keys, d));
          EXPECT_LE(std::fabs(stored_value(s.layout, s.head(t, h), slot, d) -
                              static_cast<double>(values[d])),
                    half_step(values, d));
        }
      }
    }
  }
}

TEST_P(CacheLayoutTest, TokensAreIndependentBytes) {
  const CacheLayout layout(2, 48, GetParam());
  const std::vector<float> row = normal(96, 3), other = normal(96, 4);
  const Buffer together = zeroed(layout.block_bytes());
  for (int t = 0; t < 32; ++t) write_kv(layout, together.get(), t, row.data(), other.data());
  // Each token written alone, merged by "or": equal only if no two tokens touch the same byte.
  std::vector<uint8_t> merged(layout.block_bytes());
  for (int t = 0; t < 32; ++t) {
    const Buffer alone = zeroed(layout.block_bytes());
    write_kv(layout, alone.get(), t, row.data(), other.data());
    for (size_t i = 0; i < merged.size(); ++i) {
      const uint8_t byte = std::to_integer<uint8_t>(alone.get()[i]);
      EXPECT_TRUE(byte == 0 || merged[i] == 0);
      merged[i] |= byte;
    }
  }
  EXPECT_EQ(std::memcmp(merged.data(), together.get(), merged.size()), 0);
}

TEST(CacheLayout, HasTheDocumentedSizes) {
  EXPECT_EQ(CacheLayout(3, 64, DType::kF32).block_bytes(), 3u * 16384);
  EXPECT_EQ(CacheLayout(3, 64, DType::kBF16).block_bytes(), 3u * 8192);
  EXPECT_EQ(CacheLayout(3, 64, DType::kI8).block_bytes(), 3u * 4352);
  EXPECT_EQ(CacheLayout(1, 100, DType::kBF16).padded_dim(), 112);
  EXPECT_THROW(CacheLayout(1, 64, DType::kQ4_0), Error);
}

TEST(CacheLayout, Int8RowsOfZeroAndTinyNumbersAreZero) {
  const CacheLayout layout(1, 16, DType::kI8);
  const Buffer block = zeroed(layout.block_bytes());
  const std::vector<float> zero(16, 0.0f), tiny(16, 1e-40f);
  write_kv(layout, block.get(), 0, zero.data(), tiny.data());
  for (size_t d = 0; d < 16; ++d) {
    EXPECT_EQ(stored_key(layout, block.get(), 0, d), 0);
    EXPECT_EQ(stored_value(layout, block.get(), 0, d), 0);
  }
}

TEST(VisibleRange, FollowsPositionAndWindow) {
  EXPECT_EQ(causal_range(0, 0).end, 1);
  EXPECT_EQ(causal_range(9, 0).begin, 0);
  EXPECT_EQ(causal_range(9, 4).begin, 6);
  EXPECT_EQ(causal_range(2, 4).begin, 0);
}

TEST_P(AttentionTest, EveryLengthMatchesTheNaiveSoftmax) {
  const CacheLayout layout(2, 32, GetParam());
  for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
    SCOPED_TRACE(kernel->name);
    const Sequence s(layout, 600, 11);
    const std::vector<float> queries = normal(32, 5);
    const AttentionContext context = s.context(1);
    double worst = 0;
    for (int length = 1; length <= 600; ++length) {
      const std::vector<VisibleRange> ranges = {causal_range(length - 1, 0)};
      worst = std::max(worst, worst_error(s, context, queries, ranges,
                                          attend(*kernel, context, queries, ranges, 1)));
    }
    EXPECT_LE(worst, tolerance(GetParam()));
  }
}

TEST_P(AttentionTest, HeadSizesAndTilesMatchTheNaiveSoftmax) {
  for (const int dim : {16, 64, 80, 100, 128, 256}) {
    const Sequence s(CacheLayout(2, dim, GetParam()), 333, 21);
    const AttentionContext context = s.context(1);
    for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
      for (const size_t tile : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 12u}) {
        SCOPED_TRACE(std::string(kernel->name) + " dim " + std::to_string(dim) + " tile " +
                     std::to_string(tile));
        const std::vector<float> queries = normal(tile * static_cast<size_t>(dim), 6);
        const std::vector<VisibleRange> ranges = last_rows(s.tokens, tile, 0);
        EXPECT_LE(worst_error(s, context, queries, ranges,
                              attend(*kernel, context, queries, ranges, tile)),
                  tolerance(GetParam()));
      }
    }
  }
}

// Peaked distributions: one key far above the others, and scores of ±80.
TEST_P(AttentionTest, LargeScoresMatchTheNaiveSoftmax) {
  const Sequence s(CacheLayout(1, 64, GetParam()), 300, 31);
  AttentionContext context = s.context(0);
  context.scale = 3.0f;
  for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
    SCOPED_TRACE(kernel->name);
    const std::vector<float> queries = normal(64 * 8, 8);
    const std::vector<VisibleRange> ranges = last_rows(s.tokens, 8, 0);
    // Errors of the scores are 24 times those at a scale of 1/√64.
    EXPECT_LE(
        worst_error(s, context, queries, ranges, attend(*kernel, context, queries, ranges, 8)),
        24 * tolerance(GetParam()));
  }
}

TEST_P(AttentionTest, WindowsAndSinksMatchTheNaiveSoftmax) {
  const Sequence s(CacheLayout(1, 48, GetParam()), 900, 41);
  for (const int window : {1, 31, 32, 33, 100, 256, 500}) {
    for (const int sinks : {0, 4, 40}) {
      const AttentionContext context = s.context(0, sinks);
      for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
        SCOPED_TRACE(std::string(kernel->name) + " window " + std::to_string(window) + " sinks " +
                     std::to_string(sinks));
        std::vector<VisibleRange> ranges;
        for (int position = 2; position < s.tokens; position += 79) {
          ranges.push_back(causal_range(position, window));
        }
        const std::vector<float> queries = normal(ranges.size() * 48, 9);
        const std::vector<float> out = attend(*kernel, context, queries, ranges, 5);
        EXPECT_LE(worst_error(s, context, queries, ranges, out), tolerance(GetParam()));
        EXPECT_TRUE(same_bits(out, attend(*kernel, context, queries, ranges, 1)));
      }
    }
  }
}

TEST_P(AttentionTest, BlocksThatNoRowSeesAreNotTouched) {
  Sequence s(CacheLayout(1, 64, GetParam()), 1000, 51);
  const std::vector<VisibleRange> ranges = last_rows(s.tokens, 6, 40);
  const std::vector<float> queries = normal(6 * 64, 10);
  for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
    const std::vector<float> before = attend(*kernel, s.context(0, 3), queries, ranges, 6);
    std::vector<std::byte*> table = s.table;
    for (size_t b = 1; b < table.size(); ++b) {
      if (b < static_cast<size_t>(ranges.front().begin / 32)) table[b] = nullptr;
    }
    AttentionContext context = s.context(0, 3);
    context.blocks = table;
    EXPECT_TRUE(same_bits(before, attend(*kernel, context, queries, ranges, 6)));
  }
}

TEST_P(AttentionTest, RowAloneEqualsRowInAnyTile) {
  for (const int dim : {64, 100}) {
    const Sequence s(CacheLayout(2, dim, GetParam()), 700, 61);
    const AttentionContext context = s.context(1);
    for (const int window : {0, 200}) {
      const std::vector<VisibleRange> ranges = last_rows(s.tokens, 80, window);
      const std::vector<float> queries = normal(80 * static_cast<size_t>(dim), 12);
      for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
        const std::vector<float> alone = attend(*kernel, context, queries, ranges, 1);
        for (const size_t tile : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 11u, 12u}) {
          EXPECT_TRUE(same_bits(alone, attend(*kernel, context, queries, ranges, tile)))
              << kernel->name << " tile " << tile;
        }
      }
    }
  }
}

// A tile whose rows are far apart: for the early rows most visited segments hold nothing.
TEST_P(AttentionTest, DistantRowsShareATile) {
  const Sequence s(CacheLayout(1, 64, GetParam()), 1500, 71);
  const AttentionContext context = s.context(0);
  std::vector<VisibleRange> ranges;
  for (const int position : {0, 31, 32, 255, 256, 700, 1023, 1024, 1499}) {
    ranges.push_back(causal_range(position, position == 1499 ? 3 : 0));
  }
  const std::vector<float> queries = normal(ranges.size() * 64, 13);
  for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
    EXPECT_TRUE(same_bits(attend(*kernel, context, queries, ranges, 1),
                          attend(*kernel, context, queries, ranges, 12)))
        << kernel->name;
  }
}

TEST_P(AttentionTest, SplitSegmentsEqualTheLoop) {
  const Sequence s(CacheLayout(1, 64, GetParam()), 1500, 81);
  for (const int window : {0, 600}) {
    const AttentionContext context = s.context(0, window == 0 ? 0 : 5);
    const std::vector<VisibleRange> ranges = last_rows(s.tokens, 7, window);
    const std::vector<float> queries = normal(7 * 64, 14);
    for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
      const std::vector<float> whole = attend(*kernel, context, queries, ranges, 7);
      std::vector<float> out(whole.size());
      std::vector<AttentionRow> rows;
      for (size_t i = 0; i < 7; ++i) {
        rows.push_back({queries.data() + i * 64, out.data() + i * 64, ranges[i]});
      }
      const SegmentRange all = visible_segments(context, rows);
      ASSERT_EQ(all.first, 0);
      ASSERT_EQ(all.last, 6);
      for (int cut = all.first; cut <= all.last; ++cut) {
        const size_t one = partial_floats(s.layout) * rows.size();
        const Buffer memory = zeroed(one * 6 * sizeof(float));
        std::memset(memory.get(), 0xff, one * 6 * sizeof(float));
        float* partials = reinterpret_cast<float*>(memory.get());
        const size_t bytes = attention_scratch_bytes(s.layout);
        const Buffer scratch = zeroed(bytes);
        const SegmentRange late = {cut, all.last}, early = {all.first, cut};
        attend_segments(*kernel, context, rows, late,
                        partials + one * static_cast<size_t>(cut - all.first),
                        {scratch.get(), bytes});
        attend_segments(*kernel, context, rows, early, partials, {scratch.get(), bytes});
        combine_partials(*kernel, context, rows, all, partials);
        EXPECT_TRUE(same_bits(whole, out)) << kernel->name << " cut at " << cut;
      }
    }
  }
}

// A prompt written and attended in chunks gives what the whole prompt gives, although the whole
// prompt's later tokens are in the cache already while its early rows attend.
TEST_P(AttentionTest, ChunkedPrefillEqualsWhole) {
  const CacheLayout layout(1, 64, GetParam());
  const Sequence whole(layout, 390, 91);
  const std::vector<float> queries = normal(390 * 64, 15);
  std::vector<VisibleRange> ranges;
  for (int position = 0; position < 390; ++position) ranges.push_back(causal_range(position, 0));
  for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
    const std::vector<float> right = attend(*kernel, whole.context(0), queries, ranges, 12);
    for (const int chunk : {1, 7, 32, 100}) {
      Sequence s(layout, 390, 91);
      std::memset(s.pool.get(), 0, s.table.size() * 2 * layout.block_bytes());
      std::vector<float> out;
      for (int first = 0; first < 390; first += chunk) {
        const int last = std::min(390, first + chunk);
        s.write(first, last);
        const std::vector<float> part =
            attend(*kernel, s.context(0),
                   std::vector<float>(queries.begin() + first * 64, queries.begin() + last * 64),
                   std::vector<VisibleRange>(ranges.begin() + first, ranges.begin() + last), 12);
        out.insert(out.end(), part.begin(), part.end());
      }
      EXPECT_TRUE(same_bits(right, out)) << kernel->name << " chunk " << chunk;
    }
  }
}

// Rows may see the future too (bidirectional masks): ranges are the caller's.
TEST_P(AttentionTest, BidirectionalRangesMatchTheNaiveSoftmax) {
  const Sequence s(CacheLayout(1, 64, GetParam()), 70, 95);
  const std::vector<VisibleRange> ranges(12, VisibleRange{0, 70});
  const std::vector<float> queries = normal(12 * 64, 16);
  for (const AttentionKernel* kernel : kernels_to_test(GetParam())) {
    EXPECT_LE(worst_error(s, s.context(0), queries, ranges,
                          attend(*kernel, s.context(0), queries, ranges, 12)),
              tolerance(GetParam()))
        << kernel->name;
  }
}

TEST_P(AttentionTest, Avx512RunsNatively) {
  if (!isa_available(Isa::kAvx512)) {
    GTEST_SKIP() << "this processor has no AVX-512: its kernels are tested emulated only";
  }
  const std::vector<const AttentionKernel*> kernels = kernels_to_test(GetParam());
  EXPECT_TRUE(std::find(kernels.begin(), kernels.end(),
                        &select_attention(Isa::kAvx512, GetParam())) != kernels.end());
}

TEST_P(AttentionTest, InstructionSetsAgreeBitForBit) {
  const std::vector<const AttentionKernel*> kernels = kernels_to_test(GetParam());
  if (kernels.size() < 2) GTEST_SKIP() << "this processor runs plain scalar code only";
  for (const int dim : {16, 64, 100, 128}) {
    const Sequence s(CacheLayout(1, dim, GetParam()), 600, 99);
    const std::vector<VisibleRange> ranges = last_rows(s.tokens, 60, 0);
    const std::vector<float> queries = normal(60 * static_cast<size_t>(dim), 17);
    const std::vector<float> first = attend(*kernels[0], s.context(0), queries, ranges, 12);
    for (size_t i = 1; i < kernels.size(); ++i) {
      EXPECT_TRUE(same_bits(first, attend(*kernels[i], s.context(0), queries, ranges, 12)))
          << kernels[0]->name << " and " << kernels[i]->name << " dim " << dim;
    }
  }
}

}  // namespace
}  // namespace adze::ops
