// Broken and hostile GGUF files: every one ends in an Error of one line that names the file, or in
// a File whose every part can be read, and none makes the reader allocate much more than the file's
// own size. What is allocated is seen through a replaced operator new.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "formats/gguf/file.h"
#include "tests/formats/gguf_bytes.h"
#include "tests/formats/hostile_file.h"

namespace adze::gguf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using Kind = Field::Kind;

constexpr const char* kName = "hostile.gguf";

// Touches everything that a File hands out.
void read_everything(const File& file) {
  for (const auto& [key, value] : file.metadata()) {
    if (const auto* strings = std::get_if<StringTable>(&value.data)) {
      size_t total = 0;
      for (size_t i = 0; i < strings->size(); ++i) total += (*strings)[i].size();
      EXPECT_LT(total, std::numeric_limits<uint32_t>::max());
    }
    if (const auto* numbers = std::get_if<NumberArray>(&value.data)) {
      if (numbers->size() > 0) (void)(*numbers)[numbers->size() - 1];
    }
    EXPECT_NE(file.find(key), nullptr);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    const DTypeInfo& type = dtype_info(tensor.dtype);
    EXPECT_EQ(tensor.rows() * tensor.columns() / type.block_elements * type.block_bytes,
              tensor.bytes);
    std::vector<std::byte> data(tensor.bytes);
    file.read(tensor, 0, data);
  }
}

std::optional<Error> parse_error(const std::string& bytes) {
  return adze::parse_error<File>(kName, bytes, read_everything);
}

// Metadata of every kind and three tensors.
GgufBytes small_file() {
  GgufBytes file;
  file.header(3, 7);
  file.key("general.architecture", 8);
  file.text("architecture", "llama");
  file.key("general.alignment", 4);
  file.number<uint32_t>(32);
  file.key("llama.rope.freq_base", 6);
  file.number<float>(10000.0f);
  file.key("flag", 7);
  file.number<uint8_t>(1);
  file.array("tokens", 8, 3);
  for (const char* token : {"a", "bc", ""}) file.text("token", token);
  file.array("types", 5, 2);
  file.number<int32_t>(1);
  file.number<int32_t>(-2);
  file.array("flags", 7, 2);
  file.number<uint8_t>(0);
  file.number<uint8_t>(1);
  file.tensor("first", {8, 2}, 0, 0);        // F32: 64 bytes
  file.tensor("second", {64, 3, 2}, 2, 64);  // Q4_0: 216 bytes
  file.tensor("third", {5}, 24, 288);        // I8: 5 bytes
  file.finish(293);
  return file;
}

constexpr std::array<uint64_t, 14> kBoundaries = {
    0,
    1,
    (uint64_t{1} << 31) - 1,
    uint64_t{1} << 31,
    (uint64_t{1} << 31) + 1,
    (uint64_t{1} << 32) - 1,
    uint64_t{1} << 32,
    (uint64_t{1} << 32) + 1,
    uint64_t{1} << 60,
    (uint64_t{1} << 61) + 1,
    (uint64_t{1} << 63) - 1,
    uint64_t{1} << 63,
    ~uint64_t{0} - 30,
    ~uint64_t{0},
};

TEST(GgufHardening, TheSmallFileIsValid) {
  const GgufBytes file = small_file();
  const auto error = parse_error(file.bytes);
  EXPECT_FALSE(error.has_value()) << error->what();
}

TEST(GgufHardening, TruncatedAtEveryByte) {
  const GgufBytes file = small_file();
  for (size_t size = 0; size < file.bytes.size(); ++size) {
    EXPECT_TRUE(parse_error(file.bytes.substr(0, size)).has_value()) << size << " bytes";
  }
}

TEST(GgufHardening, EveryBitAndByteOfTheHeaderFlipped) {
  const GgufBytes file = small_file();
  size_t refused = 0;
  for (size_t i = 0; i < file.header_size; ++i) {
    for (int change = 0; change < 11; ++change) {
      std::string bytes = file.bytes;
      auto& byte = bytes[i];
      if (change < 8) byte = static_cast<char>(byte ^ (1 << change));
      if (change == 8) byte = 0;
      if (change == 9) byte = static_cast<char>(0xff);
      if (change == 10) byte = static_cast<char>(~byte);
      if (parse_error(bytes)) ++refused;
    }
  }
  EXPECT_GT(refused, file.header_size);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = file.bytes;
    for (int i = 0; i < 3; ++i) bytes[random() % file.header_size] = static_cast<char>(random());
    parse_error(bytes);
  }
}

TEST(GgufHardening, BoundaryValuesInEveryCountLengthDimensionAndOffset) {
  const GgufBytes file = small_file();
  for (const Field& field : file.fields) {
    if (field.kind == Kind::kCode) continue;
    uint64_t original = 0;
    std::memcpy(&original, file.bytes.data() + field.position, field.width);
    std::vector<uint64_t> values(kBoundaries.begin(), kBoundaries.end());
    values.push_back(file.bytes.size());
    values.push_back(file.bytes.size() - field.position);
    for (const uint64_t value : values) {
      const auto planted = field.width == 4 ? static_cast<uint32_t>(value) : value;
      if (planted == original) continue;
      // Fewer tensors than there are is a valid file.
      if (field.kind == Kind::kTensorCount && planted < original) continue;
      // A smaller tensor in the same place is valid, too.
      const auto error = parse_error(file.with(field, planted));
      if (field.kind == Kind::kDimension && planted == 1 && !error) continue;
      EXPECT_TRUE(error.has_value()) << field.name << " = " << planted;
    }
  }
}

TEST(GgufHardening, ProductsOfDimensionsThatOverflow) {
  const GgufBytes file = small_file();
  std::vector<Field> sizes;
  for (const Field& field : file.fields) {
    if (field.kind == Kind::kDimension && field.name == "second size") sizes.push_back(field);
  }
  ASSERT_EQ(sizes.size(), 3u);
  for (const uint64_t a : kBoundaries) {
    for (const uint64_t b : kBoundaries) {
      for (const uint64_t c : kBoundaries) {
        if (a <= 1 && b <= 1 && c <= 1) continue;
        GgufBytes changed = file;
        changed.bytes = changed.with(sizes[0], a);
        changed.bytes = changed.with(sizes[1], b);
        EXPECT_TRUE(parse_error(changed.with(sizes[2], c)).has_value())
            << a << "×" << b << "×" << c;
      }
    }
  }
}

// One metadata entry that `add` makes, and one F32 tensor of 8 elements.
template <class Add>
std::optional<Error> with_entry(Add add, uint64_t entries = 1) {
  GgufBytes file;
  file.header(1, entries);
  add(file);
  file.tensor("weight", {8}, 0, 0);
  file.finish(32);
  return parse_error(file.bytes);
}

void expect_error(const std::optional<Error>& error, std::initializer_list<const char*> parts) {
  ASSERT_TRUE(error.has_value());
  for (const char* part : parts) EXPECT_THAT(error->what(), HasSubstr(part));
}

TEST(GgufHardening, AlignmentOutOfRangeOrOfAnotherType) {
  const auto aligned = [](uint32_t type, auto value) {
    return with_entry([&](GgufBytes& file) {
      file.key("general.alignment", type);
      file.number(value);
    });
  };
  EXPECT_FALSE(aligned(4, uint32_t{32}).has_value());
  for (const uint32_t value : {0u, 3u, 48u, 1u << 21, 1u << 31, ~0u}) {
    expect_error(aligned(4, value), {"general.alignment", "power of two"});
  }
  expect_error(aligned(5, int32_t{-32}), {"general.alignment", "-32"});
  expect_error(aligned(10, uint64_t{1} << 63), {"general.alignment"});
  expect_error(aligned(6, 32.0f), {"general.alignment", "f32, not an integer"});
  expect_error(aligned(7, uint8_t{1}), {"general.alignment", "bool, not an integer"});
  expect_error(with_entry([](GgufBytes& file) {
                 file.key("general.alignment", 8);
                 file.text("value", "32");
               }),
               {"general.alignment", "string, not an integer"});
  expect_error(with_entry([](GgufBytes& file) {
                 file.array("general.alignment", 4, 1);
                 file.number<uint32_t>(32);
               }),
               {"general.alignment", "array of u32, not an integer"});
}

TEST(GgufHardening, DuplicateKeysAndTensors) {
  expect_error(with_entry(
                   [](GgufBytes& file) {
                     for (int i = 0; i < 2; ++i) {
                       file.key("twice\n", 0);
                       file.number<uint8_t>(1);
                     }
                   },
                   2),
               {"twice\\x0a", "appears twice"});
  GgufBytes file;
  file.header(2, 0);
  file.tensor("weight", {8}, 0, 0);
  file.tensor("weight", {8}, 0, 32);
  file.finish(64);
  expect_error(parse_error(file.bytes), {"weight", "appears twice"});
}

TEST(GgufHardening, ClaimedSizesThatTheFileCannotHold) {
  expect_error(with_entry([](GgufBytes& file) {
                 file.key("text", 8);
                 file.number(uint64_t{1} << 30);
               }),
               {"1073741824 bytes claimed"});
  expect_error(with_entry([](GgufBytes& file) { file.array("tokens", 8, uint64_t{1} << 60); }),
               {"tokens", "1152921504606846976 elements claimed"});
  expect_error(with_entry([](GgufBytes& file) {
                 file.array("tokens", 8, 2);
                 file.text("token", "a");
                 file.number(uint64_t{1} << 30);
               }),
               {"1073741824 bytes claimed"});
  expect_error(with_entry([](GgufBytes& file) { file.array("scores", 12, uint64_t{1} << 61); }),
               {"scores", "elements claimed"});
  expect_error(with_entry([](GgufBytes& file) { file.key(std::string(70000, 'k'), 0); }),
               {"metadata key", "70000"});
}

TEST(GgufHardening, ValuesThatAreNotOfTheirType) {
  expect_error(with_entry([](GgufBytes& file) {
                 file.key("flag", 7);
                 file.number<uint8_t>(2);
               }),
               {"flag", "2 is not a bool"});
  expect_error(with_entry([](GgufBytes& file) {
                 file.array("flags", 7, 2);
                 file.number<uint8_t>(1);
                 file.number<uint8_t>(200);
               }),
               {"flags", "200 is not a bool"});
  for (const uint32_t type : {13u, 255u, 1u << 31, ~0u}) {
    expect_error(with_entry([&](GgufBytes& file) { file.key("odd", type); }),
                 {"unknown type", std::to_string(type).c_str()});
  }
  const auto nested = with_entry([](GgufBytes& file) {
    file.array("nested", 9, 1);
    file.number<uint32_t>(4);
    file.number<uint64_t>(0);
  });
  expect_error(nested, {"nested", "arrays of arrays are not supported"});
  EXPECT_EQ(nested->kind(), ErrorKind::kUnsupported);
}

TEST(GgufHardening, UnknownTensorTypesAndVersions) {
  for (const uint32_t type : {4u, 5u, 9u, 15u, 16u, 31u, 38u, 40u, 1000u, 1u << 31, ~0u}) {
    GgufBytes file;
    file.header(1, 0);
    file.tensor("weight", {256}, type, 0);
    file.finish(4096);
    const auto error = parse_error(file.bytes);
    expect_error(error, {"tensor weight", std::to_string(type).c_str(), "not supported"});
    EXPECT_EQ(error->kind(), ErrorKind::kUnsupported);
  }
  const GgufBytes file = small_file();
  const Field& version = file.fields.front();
  for (const uint32_t value : {0u, 1u, 4u, 0x02000000u, 0x03000000u, ~0u}) {
    const auto error = parse_error(file.with(version, value));
    expect_error(error, {"not supported"});
    EXPECT_EQ(error->kind(), ErrorKind::kUnsupported);
  }
}

TEST(GgufHardening, TensorsOutsideTheFileOverlappingOrMisaligned) {
  struct Case {
    std::vector<uint64_t> first;
    uint64_t second_offset;
    const char* message;
  };
  // The second tensor has 32 bytes; the data 128.
  const std::vector<Case> cases = {
      {{16}, 32, "overlap"},        {{16}, 0, "overlap"},
      {{16}, 65, "not a multiple"}, {{16}, 112, "not a multiple"},
      {{16}, 128, "past the file"}, {{16}, ~uint64_t{31}, "past the file"},
      {{17}, 64, "overlap"},        {{15}, uint64_t{1} << 40, "past the file"},
  };
  for (const Case& wrong : cases) {
    GgufBytes file;
    file.header(2, 0);
    file.tensor("first", wrong.first, 0, 0);
    file.tensor("second", {8}, 0, wrong.second_offset);
    file.finish(128);
    expect_error(parse_error(file.bytes), {"second", wrong.message});
  }
  GgufBytes rows;
  rows.header(1, 0);
  rows.tensor("weight", {48, 2}, 2, 0);  // 96 elements are whole blocks, rows are not
  rows.finish(128);
  expect_error(parse_error(rows.bytes), {"weight", "rows of 48 are not whole blocks of Q4_0"});
}

TEST(GgufHardening, LargeArraysCostLittleMoreThanTheirBytes) {
  GgufBytes file;
  constexpr uint64_t kTokens = 100000;
  file.header(0, 3);
  file.array("tokens", 8, kTokens);
  for (uint64_t i = 0; i < kTokens; ++i) file.text("token", std::to_string(i));
  file.fields.clear();
  file.array("bytes", 0, 1000000);
  file.bytes.append(1000000, '\7');
  file.array("types", 5, kTokens);
  file.bytes.append(4 * kTokens, '\1');
  file.finish(0);
  EXPECT_FALSE(parse_error(file.bytes).has_value());
  auto input = memory_input(kName, std::as_bytes(std::span(file.bytes)));
  const CountedAllocations allocations;
  const File parsed = File::parse(std::move(input));
  EXPECT_LE(allocations.peak(), 2 * file.bytes.size());
}

TEST(GgufHardening, AFailedAllocationIsReportedAndNothingLeaks) {
  EXPECT_GT(failed_allocations<File>(kName, small_file().bytes), 20u);
}

TEST(GgufHardening, ReadErrorsAnywhere) {
  GgufBytes file;
  file.header(1, 1);
  file.array("tokens", 8, 60000);
  for (int i = 0; i < 60000; ++i) file.text("token", std::to_string(i));
  file.tensor("weight", {8}, 0, 0);
  file.finish(32);
  const int failures = failed_reads<File>(kName, file.bytes, [](const File& parsed) {
    std::vector<std::byte> data(32);
    parsed.read(parsed.tensors()[0], 0, data);
  });
  EXPECT_GE(failures, 4);  // the header's windows and the tensor
}

// A damaged count in a file that really is that large: nothing is allocated for it.
TEST(GgufHardening, MetadataHasALimitOfItsOwn) {
  for (const uint32_t type : {7u, 8u, 10u}) {  // bool, string, uint64
    GgufBytes bytes;
    bytes.header(0, 1);
    bytes.array("key", type, uint64_t{1} << 31);
    const std::string path = testing::TempDir() + "large_metadata.gguf";
    {
      std::ofstream file(path, std::ios::binary);
      file << bytes.bytes;
    }
    std::filesystem::resize_file(path, uint64_t{40} << 30);  // a hole
    {
      const CountedAllocations allocations;
      try {
        File::open(path);
        ADD_FAILURE() << type;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(path), HasSubstr("key"), HasSubstr("metadata")));
      }
      EXPECT_LT(allocations.peak(), 16u << 20);
    }
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace adze::gguf
