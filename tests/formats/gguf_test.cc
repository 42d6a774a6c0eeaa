// Reading files that the Python package `gguf` wrote (tests/golden/make_gguf_golden.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "formats/gguf/file.h"

namespace adze::gguf {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string golden(const std::string& name) { return ADZE_SOURCE_DIR "/tests/golden/gguf/" + name; }

Json expected() { return Json::parse(read_text_file(golden("expected.json"))); }

// A value as JSON, each kind in its own way, so that comparing sees a confusion of kinds.
struct ToJson {
  Json operator()(const NumberArray& numbers) const {
    Json array = Json::array();
    for (size_t i = 0; i < numbers.size(); ++i) {
      array.push_back(std::visit([](auto number) { return Json(number); }, numbers[i]));
    }
    return array;
  }
  Json operator()(const StringTable& strings) const {
    Json array = Json::array();
    for (size_t i = 0; i < strings.size(); ++i) array.push_back(std::string(strings[i]));
    return array;
  }
  template <class Scalar>
  Json operator()(const Scalar& scalar) const {
    return Json(scalar);
  }
};

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

void expect_tensor(const File& file, const TensorInfo& tensor, const Json& want) {
  EXPECT_EQ(tensor.name, want["name"].get<std::string>());
  EXPECT_EQ(dtype_info(tensor.dtype).name, want["dtype"].get<std::string>()) << tensor.name;
  EXPECT_EQ(tensor.shape, want["shape"].get<std::vector<uint64_t>>()) << tensor.name;
  std::vector<std::byte> data(tensor.bytes);
  file.read(tensor, 0, data);
  EXPECT_EQ(hex(data), want["data"].get<std::string>()) << tensor.name;
  std::vector<std::byte> last(1);
  file.read(tensor, tensor.bytes - 1, last);
  EXPECT_EQ(last[0], data.back());
  EXPECT_THROW(file.read(tensor, tensor.bytes, last), Error);
}

void expect_metadata(const File& file, size_t i, const Json& want) {
  const auto& [key, value] = file.metadata().at(i);
  EXPECT_EQ(key, want["key"].get<std::string>());
  const bool is_array = want["value"].is_array();
  EXPECT_EQ(value.type == ValueType::kArray, is_array) << key;
  EXPECT_EQ(value_type_name(is_array ? value.element_type : value.type),
            want["type"].get<std::string>())
      << key;
  EXPECT_EQ(std::visit(ToJson{}, value.data), want["value"]) << key;
}

TEST(GgufFile, ReadsEveryMetadataAndTensorTypeInBothVersions) {
  const Json want = expected();
  for (const uint32_t version : {2u, 3u}) {
    const File file = File::open(golden(fmt::format("every_type_v{}.gguf", version)));
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.alignment(), 32u);
    ASSERT_EQ(file.metadata().size(), want["metadata"].size());
    for (size_t i = 0; i < file.metadata().size(); ++i) {
      expect_metadata(file, i, want["metadata"][i]);
    }
    ASSERT_EQ(file.tensors().size(), want["tensors"].size());
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      expect_tensor(file, file.tensors()[i], want["tensors"][i]);
    }
  }
}

TEST(GgufFile, KeepsToTheFilesAlignment) {
  const File file = File::open(golden("aligned_64.gguf"));
  const Json want = expected();
  EXPECT_EQ(file.alignment(), 64u);
  ASSERT_EQ(file.tensors().size(), 3u);
  for (size_t i = 0; i < 3; ++i) expect_tensor(file, file.tensors()[i], want["tensors"][i]);
}

TEST(GgufFile, ReadsASplitModelAsOne) {
  const File file = File::open(golden("split-00001-of-00003.gguf"));
  const Json want = expected();
  ASSERT_EQ(file.tensors().size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    expect_tensor(file, file.require_tensor(want["tensors"][i]["name"].get<std::string>()),
                  want["tensors"][i]);
  }
  EXPECT_EQ(file.find_tensor("two.i32"), nullptr);
}

// A folder that holds some of the golden files.
class Folder {
 public:
  explicit Folder(std::initializer_list<std::pair<std::string, std::string>> files) {
    std::string pattern = testing::TempDir() + "gguf.XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    for (const auto& [from, to] : files) std::filesystem::copy_file(golden(from), path_ / to);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

TEST(GgufFile, SaysWhatIsWrongWithASplitModel) {
  EXPECT_THAT(
      [] { File::open(golden("split-00002-of-00003.gguf")); },
      ThrowsMessage<Error>(HasSubstr("a later part of a split model; open its first part")));
  const std::string first = "split-00001-of-00003.gguf";
  const std::string second = "split-00002-of-00003.gguf";
  const std::string third = "split-00003-of-00003.gguf";
  const Folder incomplete{{first, first}, {second, second}};
  EXPECT_THAT([&] { File::open(incomplete / first); },
              ThrowsMessage<Error>(AllOf(HasSubstr("part 3 of 3 is missing"), HasSubstr(third))));
  const Folder swapped{{first, first}, {third, second}, {second, third}};
  EXPECT_THAT([&] { File::open(swapped / first); },
              ThrowsMessage<Error>(AllOf(HasSubstr(second), HasSubstr("not part 2 of 3"))));
  const Folder renamed{{first, "model.gguf"}};
  EXPECT_THAT([&] { File::open(renamed / "model.gguf"); },
              ThrowsMessage<Error>(HasSubstr("first part is named")));
}

TEST(GgufFile, RefusesOtherByteOrderAndOtherFiles) {
  EXPECT_THAT([] { File::open(golden("big_endian.gguf")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("big_endian.gguf"), HasSubstr("big-endian"))));
  EXPECT_THAT([] { File::open(golden("expected.json")); },
              ThrowsMessage<Error>(HasSubstr("not a GGUF file")));
  EXPECT_THROW(File::open(golden("")), Error);
  EXPECT_THROW(File::open(golden("absent.gguf")), Error);
}

TEST(GgufFile, TypedGettersWidenAndRefuse) {
  const File file = File::open(golden("every_type_v3.gguf"));
  EXPECT_EQ(file.require_integer("one.u8"), 255);
  EXPECT_EQ(file.require_integer("one.i64"), INT64_MIN);
  EXPECT_EQ(file.require_real("one.f32"), 1.5);
  EXPECT_EQ(file.require_real("one.i16"), -32768.0);
  EXPECT_EQ(file.boolean("one.bool"), true);
  EXPECT_EQ(file.require_text("one.string"), "plain");
  EXPECT_EQ(file.integers("many.i32"), (std::vector<int64_t>{INT32_MIN, INT32_MAX, -3}));
  EXPECT_EQ(file.integers("many.u16"), (std::vector<int64_t>{65535, 0, 258}));
  EXPECT_EQ(file.reals("many.f64"), (std::vector<double>{0.1, -1e300, 5e-324}));
  EXPECT_EQ(file.reals("many.i8"), (std::vector<double>{-128, 127, -1}));
  ASSERT_NE(file.strings("many.string"), nullptr);
  EXPECT_EQ((*file.strings("many.string"))[3], std::string_view("a\0b", 3));
  EXPECT_EQ((*file.strings("many.string"))[2], "");

  EXPECT_EQ(file.integer("absent"), std::nullopt);
  EXPECT_EQ(file.strings("absent"), nullptr);
  const auto names = [](const char* key, const char* what) {
    return ThrowsMessage<Error>(
        AllOf(HasSubstr("every_type_v3.gguf"), HasSubstr(key), HasSubstr(what)));
  };
  EXPECT_THAT([&] { file.require_integer("absent"); }, names("absent", "missing"));
  EXPECT_THAT([&] { file.require_integer("not\nthere"); }, names("not\\x0athere", "missing"));
  EXPECT_THAT([&] { file.integer("one.u64"); }, names("one.u64", "18446744073709551615"));
  EXPECT_THAT([&] { file.integers("many.u64"); }, names("many.u64", "18446744073709551615"));
  EXPECT_THAT([&] { file.integer("one.f32"); }, names("one.f32", "is f32, not an integer"));
  EXPECT_THAT([&] { file.integer("one.bool"); }, names("one.bool", "is bool"));
  EXPECT_THAT([&] { file.real("one.string"); }, names("one.string", "is string"));
  EXPECT_THAT([&] { file.boolean("one.u8"); }, names("one.u8", "not a bool"));
  EXPECT_THAT([&] { file.text("many.string"); }, names("many.string", "an array of string"));
  EXPECT_THAT([&] { file.strings("many.u8"); }, names("many.u8", "not an array of strings"));
  EXPECT_THAT([&] { file.integers("many.f32"); }, names("many.f32", "not an array of integers"));
  EXPECT_THAT([&] { file.integers("one.u8"); }, names("one.u8", "not an array of integers"));
  EXPECT_THAT([&] { file.reals("many.bool"); }, names("many.bool", "not an array of numbers"));
  EXPECT_THAT([&] { file.require_tensor("no"); }, names("no", "missing"));
}

}  // namespace
}  // namespace adze::gguf
