#include "base/checked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"

namespace adze {
namespace {

using testing::HasSubstr;

// The result in the widest integers there are.
__extension__ typedef unsigned __int128 Wide;
constexpr Wide kMost = UINT64_MAX;

const uint64_t kBorders[] = {0,
                             1,
                             2,
                             3,
                             31,
                             32,
                             33,
                             0x7fff'ffff,
                             0x8000'0000,
                             0xffff'ffff,
                             0x1'0000'0000,
                             0x1'0000'0001,
                             0x7fff'ffff'ffff'ffff,
                             0x8000'0000'0000'0000,
                             UINT64_MAX / 3,
                             UINT64_MAX - 32,
                             UINT64_MAX - 31,
                             UINT64_MAX - 1,
                             UINT64_MAX};

void expect(const std::string& what, bool fits, Wide exact, const std::function<CheckedSize()>& f) {
  try {
    const CheckedSize result = f();
    EXPECT_TRUE(fits) << what << " gave " << result.value();
    EXPECT_EQ(result.value(), static_cast<uint64_t>(exact)) << what;
  } catch (const Error& error) {
    EXPECT_FALSE(fits) << what << ": " << error.what();
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_THAT(error.what(), HasSubstr("size"));
  }
}

TEST(CheckedSize, EveryPairOfBordersGivesTheExactResultOrAnError) {
  for (const uint64_t a : kBorders) {
    for (const uint64_t b : kBorders) {
      const std::string pair = std::to_string(a) + " and " + std::to_string(b);
      const Wide sum = Wide{a} + b;
      const Wide product = Wide{a} * b;
      const CheckedSize left(a);
      const CheckedSize right(b);
      expect(pair + " added", sum <= kMost, sum, [&] { return left + right; });
      expect(pair + " added", sum <= kMost, sum, [&] { return left + b; });
      expect(pair + " multiplied", product <= kMost, product, [&] { return left * right; });
      expect(pair + " multiplied", product <= kMost, product, [&] { return left * b; });
      expect(pair + " subtracted", a >= b, Wide{a} - b, [&] { return left - right; });
      if (b != 0) {
        const Wide up = (Wide{a} + b - 1) / b * b;
        expect(pair + " aligned", up <= kMost, up, [&] { return left.align_up(b); });
      }
      EXPECT_EQ(left < right, a < b);
      EXPECT_EQ(left == right, a == b);
    }
  }
}

template <class T>
void expect_narrowing(const char* type) {
  for (const uint64_t value : kBorders) {
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<T>::max());
    try {
      EXPECT_EQ(static_cast<uint64_t>(CheckedSize(value).as<T>()), value);
      EXPECT_TRUE(fits) << value << " as " << type;
    } catch (const Error& error) {
      EXPECT_FALSE(fits) << value << " as " << type;
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(value)));
    }
  }
}

TEST(CheckedSize, NarrowsOnlyWhatFits) {
  expect_narrowing<int8_t>("int8_t");
  expect_narrowing<uint16_t>("uint16_t");
  expect_narrowing<int32_t>("int32_t");
  expect_narrowing<uint32_t>("uint32_t");
  expect_narrowing<int64_t>("int64_t");
  expect_narrowing<uint64_t>("uint64_t");
}

TEST(CheckedSize, SignedNumbersMustNotBeNegative) {
  EXPECT_EQ(CheckedSize::from_signed(0).value(), 0u);
  EXPECT_EQ(CheckedSize::from_signed(INT64_MAX).value(), uint64_t{INT64_MAX});
  for (const int64_t value : {int64_t{-1}, int64_t{INT32_MIN}, INT64_MIN}) {
    EXPECT_THROW(CheckedSize::from_signed(value), Error) << value;
  }
}

}  // namespace
}  // namespace adze
