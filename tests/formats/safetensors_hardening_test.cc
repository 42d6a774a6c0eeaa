// Broken and hostile safetensors files: every one ends in an Error of one line that names the file,
// or in a File whose every part can be read, and none makes the reader allocate much more than the
// file's own size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "formats/safetensors/file.h"
#include "tests/formats/hostile_file.h"

namespace adze::safetensors {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kName = "hostile.safetensors";
constexpr size_t kDataBytes = 64 + 6 + 40 + 4;

const std::string kHeader = R"({"__metadata__":{"format":"pt"},)"
                            R"("first":{"dtype":"F32","shape":[8,2],"data_offsets":[0,64]},)"
                            R"("third":{"dtype":"I64","shape":[5,1],"data_offsets":[70,110]},)"
                            R"("second":{"dtype":"BF16","shape":[3],"data_offsets":[64,70]},)"
                            R"("none":{"dtype":"F16","shape":[7,0],"data_offsets":[70,70]},)"
                            R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[110,114]}})";

std::string with_length(uint64_t length, const std::string& header, size_t data = kDataBytes) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += header;
  for (size_t i = 0; i < data; ++i) bytes += static_cast<char>(i);
  return bytes;
}
std::string file_bytes(const std::string& header, size_t data = kDataBytes) {
  return with_length(header.size(), header, data);
}

void read_everything(const File& file) {
  for (const TensorInfo& tensor : file.tensors()) {
    EXPECT_EQ(tensor.elements() * tensor.type->bits, tensor.bytes * 8);
    std::vector<std::byte> data(tensor.bytes);
    file.read(tensor, 0, data);
    EXPECT_EQ(file.find_tensor(tensor.name), &tensor);
  }
}

std::optional<Error> parse_error(const std::string& bytes) {
  return adze::parse_error<File>(kName, bytes, read_everything);
}

std::string message(const std::string& header, size_t data = kDataBytes) {
  const auto error = parse_error(file_bytes(header, data));
  return error ? error->what() : "no error";
}

// `text` with the first `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

// A header of one tensor "a" with 8 bytes of data.
std::string one(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

TEST(SafetensorsHardening, TheSmallFileIsValid) {
  EXPECT_EQ(message(kHeader), "no error");
  EXPECT_EQ(message(kHeader + "   "), "no error");
  EXPECT_EQ(message("{}", 0), "no error");
  EXPECT_EQ(message(one(R"("dtype":"F4","shape":[16],"data_offsets":[0,8])"), 8), "no error");
}

TEST(SafetensorsHardening, TruncatedAtEveryByte) {
  const std::string bytes = file_bytes(kHeader);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(parse_error(bytes.substr(0, size)).has_value()) << size << " bytes";
  }
  // The text itself cut, its length and the data right.
  for (size_t size = 0; size < kHeader.size(); ++size) {
    EXPECT_NE(message(kHeader.substr(0, size)), "no error") << size << " bytes";
  }
}

TEST(SafetensorsHardening, EveryBitAndByteOfTheHeaderFlipped) {
  const std::string right = file_bytes(kHeader);
  const size_t header_size = 8 + kHeader.size();
  size_t refused = 0;
  for (size_t i = 0; i < header_size; ++i) {
    for (int change = 0; change < 11; ++change) {
      std::string bytes = right;
      char& byte = bytes[i];
      if (change < 8) byte = static_cast<char>(byte ^ (1 << change));
      if (change == 8) byte = 0;
      if (change == 9) byte = static_cast<char>(0xff);
      if (change == 10) byte = static_cast<char>(~byte);
      if (parse_error(bytes)) ++refused;
    }
  }
  EXPECT_GT(refused, 5 * header_size);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = right;
    for (int i = 0; i < 3; ++i) bytes[random() % header_size] = static_cast<char>(random());
    parse_error(bytes);
  }
}

TEST(SafetensorsHardening, HeaderLengths) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{1}, kHeader.size() - 1, kHeader.size() + 1,
                                uint64_t{99'999'999}, uint64_t{100'000'000}}) {
    EXPECT_TRUE(parse_error(with_length(length, kHeader)).has_value()) << length;
  }
  for (const uint64_t length :
       {uint64_t{100'000'001}, (uint64_t{1} << 31) - 1, uint64_t{1} << 31, (uint64_t{1} << 31) + 1,
        (uint64_t{1} << 63) - 1, uint64_t{1} << 63, ~uint64_t{0} - 7, ~uint64_t{0}}) {
    const auto error = parse_error(with_length(length, kHeader));
    ASSERT_TRUE(error.has_value()) << length;
    EXPECT_THAT(error->what(), AllOf(HasSubstr("100000000 are allowed"), HasSubstr("offset 0")));
  }
}

TEST(SafetensorsHardening, BoundaryValuesInEveryNumber) {
  const std::vector<std::string> values = {
      "0",
      "1",
      "2147483647",
      "2147483648",
      "2147483649",
      "4294967295",
      "4294967296",
      "9223372036854775807",
      "9223372036854775808",
      "18446744073709551615",
      "-1",
      "18446744073709551616",
      "1e400",
      "8.0",
      "1e1",
      "\"8\"",
      "null",
      "true",
      "[]",
      "{}",
      "[8]",
      "08",
      "+8",
      "0x8",
      "NaN",
      "",
  };
  // Positions of all numbers in the header's arrays.
  size_t numbers = 0;
  for (size_t i = 0; i < kHeader.size(); ++i) {
    const bool starts = std::isdigit(static_cast<unsigned char>(kHeader[i])) &&
                        (kHeader[i - 1] == '[' || kHeader[i - 1] == ',');
    if (!starts) continue;
    ++numbers;
    const size_t end = kHeader.find_first_not_of("0123456789", i);
    const std::string original = kHeader.substr(i, end - i);
    for (const std::string& value : values) {
      const std::string text = kHeader.substr(0, i) + value + kHeader.substr(end);
      const std::string found = message(text);
      // The other dimension of the tensor without elements may have any size.
      const bool free = kHeader.substr(0, i).ends_with(R"("F16","shape":[)");
      EXPECT_TRUE(found != "no error" || value == original || free) << text;
    }
  }
  EXPECT_EQ(numbers, 7u + 10u);
}

TEST(SafetensorsHardening, ProductsOfDimensionsThatOverflow) {
  const std::vector<std::string> sizes = {"0",
                                          "1",
                                          "2147483648",
                                          "4294967296",
                                          "4611686018427387904",
                                          "9223372036854775807",
                                          "18446744073709551615"};
  for (const auto& a : sizes) {
    for (const auto& b : sizes) {
      for (const auto& c : sizes) {
        const std::string shape = "[" + a + "," + b + "," + c + "]";
        EXPECT_NE(message(one(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,8])"), 8),
                  "no error")
            << shape;
      }
    }
  }
  EXPECT_THAT(
      message(one(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), 8),
      HasSubstr("tensor a: shape: the number of bytes overflows"));
  EXPECT_THAT(message(one(R"("dtype":"F4","shape":[15],"data_offsets":[0,8])"), 8),
              HasSubstr("tensor a: shape: the elements do not fill whole bytes"));
  EXPECT_THAT(message(one(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8),
              HasSubstr("tensor a: data_offsets: 8 bytes, but its shape of F32 needs 12"));
  EXPECT_THAT(message(one(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8])"), 8),
              HasSubstr("more than 8 dimensions"));
}

TEST(SafetensorsHardening, OffsetsOutsideTheDataOverlappingOrWithGaps) {
  const auto two = [](const std::string& first, const std::string& second, size_t data) {
    return message(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + first +
                       R"(},"b":{"dtype":"U8","shape":[8],"data_offsets":)" + second + "}}",
                   data);
  };
  EXPECT_EQ(two("[0,8]", "[8,16]", 16), "no error");
  EXPECT_EQ(two("[8,16]", "[0,8]", 16), "no error");
  EXPECT_THAT(two("[0,8]", "[0,8]", 16), HasSubstr("overlaps"));
  EXPECT_THAT(two("[0,8]", "[7,15]", 16), HasSubstr("tensor b: overlaps"));
  EXPECT_THAT(two("[0,8]", "[9,17]", 17), HasSubstr("tensor b: 1 bytes before it belong to no"));
  EXPECT_THAT(two("[1,9]", "[9,17]", 17), HasSubstr("tensor a: 1 bytes before it belong to no"));
  EXPECT_THAT(two("[0,8]", "[8,16]", 17), HasSubstr("the last 1 bytes belong to no tensor"));
  EXPECT_THAT(two("[0,8]", "[8,16]", 15), HasSubstr("tensor b: 8 bytes at offset 8"));
  EXPECT_THAT(two("[0,8]", "[18446744073709551607,18446744073709551615]", 16),
              HasSubstr("past the file's end"));
  EXPECT_THAT(two("[8,0]", "[8,16]", 16), HasSubstr("tensor a: data_offsets: 8 is after 0"));
  EXPECT_THAT(message("{}", 1), HasSubstr("the last 1 bytes belong to no tensor"));
}

TEST(SafetensorsHardening, FieldsMissingTwiceUnknownOrOfAnotherType) {
  const std::string dtype = R"("dtype":"F32")";
  const std::string shape = R"("shape":[2])";
  const std::string offsets = R"("data_offsets":[0,8])";
  const auto fields = [](std::initializer_list<std::string> all) {
    std::string text;
    for (const std::string& field : all) text += (text.empty() ? "" : ",") + field;
    return message(one(text), 8);
  };
  EXPECT_EQ(fields({offsets, shape, dtype}), "no error");
  EXPECT_THAT(fields({shape, offsets}), HasSubstr("tensor a: dtype is missing"));
  EXPECT_THAT(fields({dtype, offsets}), HasSubstr("tensor a: shape is missing"));
  EXPECT_THAT(fields({dtype, shape}), HasSubstr("tensor a: data_offsets are not two numbers"));
  EXPECT_THAT(fields({dtype, shape, offsets, dtype}), HasSubstr("tensor a: dtype: appears twice"));
  EXPECT_THAT(fields({dtype, shape, offsets, shape}), HasSubstr("tensor a: shape: appears twice"));
  EXPECT_THAT(fields({dtype, shape, offsets, offsets}), HasSubstr("data_offsets: appears twice"));
  EXPECT_THAT(fields({dtype, shape, offsets, R"("strides":[1])"}),
              HasSubstr("tensor a: strides: an array is not expected here"));
  EXPECT_THAT(fields({dtype, shape, R"("data_offsets":[0,8,8])"}), HasSubstr("more than two"));
  EXPECT_THAT(fields({dtype, shape, R"("data_offsets":[0])"}), HasSubstr("not two numbers"));
  for (const char* wrong : {"1", "null", "true", "[]", "{}", "1.5", "-1"}) {
    EXPECT_THAT(fields({std::string(R"("dtype":)") + wrong, shape, offsets}),
                HasSubstr("tensor a: dtype: "));
  }
  for (const char* wrong : {"1", "null", "true", "{}", "\"[2]\"", "1.5", "-1", "[[2]]", "[{}]"}) {
    EXPECT_THAT(fields({dtype, std::string(R"("shape":)") + wrong, offsets}),
                HasSubstr("tensor a: shape: "));
    EXPECT_THAT(fields({dtype, shape, std::string(R"("data_offsets":)") + wrong}),
                HasSubstr("tensor a: data_offsets: "));
  }
  const auto unknown = parse_error(file_bytes(one(R"("dtype":"F31\n")"), 8));
  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(unknown->kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(unknown->what(), HasSubstr("tensor a: dtype: type 'F31\\x0a' is not supported"));
}

TEST(SafetensorsHardening, NamesAndKeysTwice) {
  EXPECT_THAT(message(replaced(kHeader, "\"third\"", "\"first\"")),
              HasSubstr("tensor first appears twice"));
  EXPECT_THAT(message(replaced(kHeader, "\"third\"", "\"__metadata__\"")),
              HasSubstr("__metadata__ appears twice"));
  EXPECT_THAT(message(replaced(kHeader, R"("format":"pt")", R"("a\n":"1","a\n":"2")")),
              HasSubstr("__metadata__: a\\x0a: appears twice"));
  for (const char* wrong : {"1", "null", "{}", "[]", "true"}) {
    EXPECT_THAT(message(replaced(kHeader, "\"pt\"", wrong)), HasSubstr("__metadata__: format: "));
  }
}

TEST(SafetensorsHardening, OtherJsonAndDeepNesting) {
  for (const char* text :
       {"", " {}", "[]", "null", "\"\"", "1", "{}{}", "{},", "{\"a\":1}", "{\"a\":\"b\"}",
        "{\"a\":[]}", "{\"a\":null}", "{a:1}", "\xef\xbb\xbf{}"}) {
    EXPECT_NE(message(text, 0), "no error") << text;
  }
  EXPECT_THAT(message(std::string("{}\0 ", 4), 0), HasSubstr("offset 10: a zero byte"));
  EXPECT_THAT(message("{\"a\xff\":{}}", 0), HasSubstr("the header is not JSON"));
  for (const std::string open : {"[", R"({"a":)", R"({"a":{"shape":[)"}) {
    std::string deep = "{\"a\":";
    for (int i = 0; i < 100000; ++i) deep += open;
    EXPECT_THAT(message(deep, 0), HasSubstr("is not expected here"));
  }
}

TEST(SafetensorsHardening, ManyTensorsCostLittleMoreThanTheirText) {
  std::string header = "{";
  constexpr int kTensors = 20000;
  for (int i = 0; i < kTensors; ++i) {
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", i, i, i + 1);
  }
  EXPECT_EQ(message(header + "}", kTensors), "no error");
}

TEST(SafetensorsHardening, AFailedAllocationIsReportedAndNothingLeaks) {
  EXPECT_GT(failed_allocations<File>(kName, file_bytes(kHeader)), 10u);
}

TEST(SafetensorsHardening, ReadErrorsAnywhere) {
  const int failures = failed_reads<File>(kName, file_bytes(kHeader), [](const File& file) {
    std::vector<std::byte> data(64);
    file.read(file.require_tensor("first"), 0, data);
  });
  EXPECT_EQ(failures, 3);  // the length, the text, the tensor
}

}  // namespace
}  // namespace adze::safetensors
