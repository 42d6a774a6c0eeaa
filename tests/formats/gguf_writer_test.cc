// The writer's refusals; what it writes is read by the Python package `gguf` in
// tests/python/test_gguf_writer.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/gguf/file.h"
#include "formats/gguf/writer.h"

namespace adze::gguf {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    std::string pattern = testing::TempDir() + "gguf.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~WriterTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "out.gguf"; }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

const std::vector<uint64_t> kTwoRows = {2, 32};

TEST_F(WriterTest, WritesAPythonFileByteForByte) {
  // Everything of the golden file, in its order, through our writer: the same bytes.
  const std::string golden = ADZE_SOURCE_DIR "/tests/golden/gguf/";
  for (const char* name : {"every_type_v3.gguf", "aligned_64.gguf"}) {
    const File in = File::open(golden + name);
    Writer out(path());
    for (const auto& [key, value] : in.metadata()) out.add_metadata(key, value);
    for (const TensorInfo& tensor : in.tensors()) {
      out.add_tensor(tensor.name, tensor.dtype, tensor.shape);
    }
    for (const TensorInfo& tensor : in.tensors()) {
      std::vector<std::byte> data(tensor.bytes);
      in.read(tensor, 0, data);
      // In two pieces.
      out.write_blocks(std::span(data).first(data.size() / 2));
      out.write_blocks(std::span(data).subspan(data.size() / 2));
    }
    EXPECT_FALSE(std::filesystem::exists(path()));
    out.finish();
    EXPECT_EQ(read_text_file(path()), read_text_file(golden + name)) << name;
    std::filesystem::remove(path());
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(WriterTest, ValuesTakeTheTypeOfTheirNumber) {
  Writer out(path());
  out.add_metadata("u8", value_of(uint8_t{200}));
  out.add_metadata("i16", value_of(int16_t{-5}));
  out.add_metadata("u64", value_of(~uint64_t{0}));
  out.add_metadata("f32", value_of(0.5f));
  out.add_metadata("f64", value_of(0.1));
  out.add_metadata("bool", value_of(true));
  out.add_metadata("text", value_of("hello"));
  out.add_metadata("numbers", value_of(std::span<const int32_t>(std::vector<int32_t>{1, -2})));
  out.add_metadata("none", value_of(NumberArray(ValueType::kFloat32, 0)));
  StringTable strings;
  strings.add("a");
  strings.add("");
  out.add_metadata("strings", value_of(std::move(strings)));
  out.finish();
  const File in = File::open(path());
  std::vector<ValueType> types;
  for (const auto& [key, value] : in.metadata()) types.push_back(value.type);
  EXPECT_EQ(types, (std::vector<ValueType>{ValueType::kUint8, ValueType::kInt16, ValueType::kUint64,
                                           ValueType::kFloat32, ValueType::kFloat64,
                                           ValueType::kBool, ValueType::kString, ValueType::kArray,
                                           ValueType::kArray, ValueType::kArray}));
  EXPECT_EQ(in.require_integer("u8"), 200);
  EXPECT_EQ(in.require_integer("i16"), -5);
  EXPECT_EQ(in.require_real("f64"), 0.1);
  EXPECT_EQ(in.integers("numbers"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(in.reals("none")->size(), 0u);
  EXPECT_EQ(in.strings("strings")->size(), 2u);
}

TEST_F(WriterTest, RefusesWhatTheReaderWouldRefuse) {
  Writer out(path());
  out.add_metadata("key", value_of(uint32_t{1}));
  EXPECT_THAT([&] { out.add_metadata("key", value_of(true)); },
              ThrowsMessage<Error>(HasSubstr("'key' is added twice")));
  for (const uint32_t alignment : {0u, 3u, 1u << 21, 1u << 31}) {
    EXPECT_THROW(out.add_metadata("general.alignment", value_of(alignment)), Error);
  }
  EXPECT_THROW(out.add_metadata("general.alignment", value_of(uint64_t{32})), Error);
  EXPECT_THROW(out.add_metadata(std::string(65536, 'k'), value_of(true)), Error);
  out.add_tensor("a", DType::kQ4_0, kTwoRows);
  EXPECT_THAT([&] { out.add_tensor("a", DType::kF32, kTwoRows); },
              ThrowsMessage<Error>(HasSubstr("tensor a is declared twice")));
  const auto refuses = [&](std::vector<uint64_t> shape, const char* why) {
    EXPECT_THAT([&] { out.add_tensor("b", DType::kQ8_0, shape); },
                ThrowsMessage<Error>(testing::AllOf(HasSubstr("tensor b"), HasSubstr(why))));
  };
  refuses({}, "dimensions");
  refuses({1, 1, 1, 1, 32}, "dimensions");
  refuses({0, 32}, "a dimension is 0");
  refuses({2, 31}, "whole blocks of Q8_0");
  refuses({uint64_t{1} << 40, uint64_t{1} << 40}, "overflows");
}

TEST_F(WriterTest, RefusesDataOfAnotherSizeAndLeavesNothing) {
  const std::vector<std::byte> block(18);
  const std::vector<float> values(32, 1.0f);
  {
    Writer out(path());
    out.add_tensor("a", DType::kQ4_0, kTwoRows);
    out.write_blocks(block);
    EXPECT_THROW(out.finish(), Error);
    EXPECT_THROW(out.write_blocks(std::vector<std::byte>(19)), Error);
    EXPECT_THROW(out.write_floats(std::span(values).first(31)), Error);
    EXPECT_THROW(out.add_metadata("late", value_of(true)), Error);
    EXPECT_THROW(out.add_tensor("late", DType::kF32, kTwoRows), Error);
    std::vector<float> infinite = values;
    infinite[3] = std::numeric_limits<float>::infinity();
    EXPECT_THAT([&] { out.write_floats(infinite); }, ThrowsMessage<Error>(HasSubstr("tensor a")));
    out.write_floats(values);
    EXPECT_THROW(out.write_blocks(block), Error);
  }
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace adze::gguf
