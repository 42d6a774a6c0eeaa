#include "graph/weight.h"

#include <gtest/gtest.h>

#include <vector>

#include "fake_weights.h"

namespace adze::graph {
namespace {

std::vector<float> evaluate(const Weight& weight, const WeightSource& source, int64_t first,
                            int64_t rows) {
  const WeightInfo info = weight->info(source);
  std::vector<std::byte> bytes(static_cast<size_t>(rows) * info.row_bytes());
  weight->read_rows(source, first, bytes);
  std::vector<float> values(static_cast<size_t>(rows * info.columns));
  decode(info.dtype, bytes, values);
  return values;
}

class WeightTest : public testing::Test {
 protected:
  WeightTest() {
    source_.add("a", DType::kF32, 4, 2);
    source_.add("b", DType::kF32, 2, 2);
    source_.add("wide", DType::kF32, 2, 32);
  }
  FakeWeights source_;
};

TEST_F(WeightTest, ConcatenationReadsAcrossOperands) {
  const Weight joined = concatenate_rows({tensor("a"), tensor("b")});
  EXPECT_EQ(joined->info(source_).rows, 6);
  EXPECT_EQ(evaluate(joined, source_, 3, 2), (std::vector<float>{300, 301, 0, 1}));
  EXPECT_EQ(joined->sources(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(WeightTest, PermutationOfSliceKeepsRowsWhole) {
  const Weight turned = permute_rows(slice_rows(tensor("a"), 1, 3), {2, 0, 1}, "turn");
  EXPECT_EQ(evaluate(turned, source_, 0, 3), (std::vector<float>{300, 301, 100, 101, 200, 201}));
  EXPECT_EQ(evaluate(turned, source_, 1, 1), (std::vector<float>{100, 101}));
  EXPECT_EQ(turned->text(), "turn(rows(a, 1:4))");
}

TEST_F(WeightTest, AffineThenQuantize) {
  EXPECT_EQ(evaluate(affine(tensor("b"), 1.0f, 1.0f), source_, 0, 1), (std::vector<float>{1, 2}));
  const Weight small = quantize(tensor("wide"), DType::kQ8_0);
  EXPECT_EQ(small->info(source_).dtype, DType::kQ8_0);
  const std::vector<float> values = evaluate(small, source_, 0, 1);
  EXPECT_NEAR(values[31], 31.0f, 0.02f);
}

TEST_F(WeightTest, RefusesWhatDoesNotFit) {
  EXPECT_THROW(slice_rows(tensor("a"), 3, 2)->info(source_), Error);
  EXPECT_THROW(concatenate_rows({tensor("a"), tensor("wide")})->info(source_), Error);
  EXPECT_THROW(permute_rows(tensor("a"), {0, 1}, "p")->info(source_), Error);
  EXPECT_THROW(quantize(tensor("a"), DType::kQ8_0)->info(source_), Error);
}

}  // namespace
}  // namespace adze::graph
