// Folders with safetensors files: what other programs wrote, and indexes that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/safetensors/file.h"

namespace adze::safetensors {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::filesystem::path kTiny = ADZE_SOURCE_DIR "/tests/golden/tiny";

// A copy of a golden folder that a test may spoil.
class Folder {
 public:
  explicit Folder(const std::string& golden) : path_(testing::TempDir() + "adze_" + golden) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(kTiny / golden, path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path index() const { return path_ / "model.safetensors.index.json"; }
  nlohmann::json read_index() const { return nlohmann::json::parse(std::ifstream(index())); }
  void write_index(const std::string& text) const { std::ofstream(index()) << text; }
  void write_index(const nlohmann::json& json) const { write_index(json.dump()); }
  // The error of opening it, which names the folder.
  std::string error() const {
    try {
      File::open_folder(path_);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string()));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
      return error.what();
    }
    return "no error";
  }

 private:
  std::filesystem::path path_;
};

// tests/golden/make_tiny_models.py had safetensors write these.
TEST(Safetensors, ReadsWhatTheReferenceImplementationWrote) {
  const File file = File::open_folder(kTiny / "llama_f32");
  EXPECT_EQ(file.parts(), 1u);
  EXPECT_EQ(file.metadata(), (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), 21u);
  const TensorInfo& tensor = file.require_tensor("model.layers.1.self_attn.k_proj.weight");
  EXPECT_EQ(tensor.type->name, "F32");
  EXPECT_EQ(tensor.shape, (std::vector<uint64_t>{32, 32}));
  EXPECT_EQ(tensor.bytes, 4096u);
  EXPECT_EQ(file.find_tensor("model.layers.2.self_attn.k_proj.weight"), nullptr);
  EXPECT_THROW(file.require_tensor("absent"), Error);
}

TEST(Safetensors, ReadsEveryPartOfAShardedModel) {
  const File file = File::open_folder(kTiny / "llama_bf16_sharded");
  const auto index = nlohmann::json::parse(
      std::ifstream(kTiny / "llama_bf16_sharded" / "model.safetensors.index.json"));
  EXPECT_GT(file.parts(), 2u);
  uint64_t bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    EXPECT_EQ(tensor.type->name, "BF16");
    EXPECT_TRUE(
        file.file_name(tensor).ends_with(index["weight_map"][tensor.name].get<std::string>()));
    std::vector<std::byte> data(tensor.bytes);
    file.read(tensor, 0, data);
    bytes += tensor.bytes;
  }
  EXPECT_EQ(bytes, index["metadata"]["total_size"]);
  EXPECT_EQ(file.tensors().size(), index["weight_map"].size());
}

TEST(SafetensorsIndex, NamesThatLeaveTheFolderAreRefused) {
  const Folder folder("llama_bf16_sharded");
  EXPECT_EQ(folder.error(), "no error");
  const nlohmann::json right = folder.read_index();
  std::ofstream(folder.path().parent_path() / "outside.safetensors") << "x";
  for (const std::string name : {"../outside.safetensors", "/etc/passwd", "sub/model.safetensors",
                                 "..", ".", "", "./model.safetensors"}) {
    nlohmann::json index = right;
    index["weight_map"]["model.norm.weight"] = name;
    folder.write_index(index);
    EXPECT_THAT(folder.error(), AllOf(HasSubstr("weight_map: model.norm.weight"),
                                      HasSubstr("name of a file in this folder")))
        << name;
  }
}

TEST(SafetensorsIndex, PartsThatAreNoRegularFiles) {
  const Folder folder("llama_bf16_sharded");
  nlohmann::json index = folder.read_index();
  const std::string part = index["weight_map"]["model.norm.weight"];
  const std::filesystem::path path = folder.path() / part;
  const std::filesystem::path elsewhere = folder.path() / "elsewhere";

  std::filesystem::rename(path, elsewhere);
  EXPECT_THAT(folder.error(), AllOf(HasSubstr(part), HasSubstr("No such file")));
  std::filesystem::create_symlink("elsewhere", path);  // its owner's choice
  EXPECT_EQ(folder.error(), "no error");
  std::filesystem::remove(elsewhere);
  ASSERT_EQ(::mkfifo(elsewhere.c_str(), 0600), 0);
  EXPECT_THAT(folder.error(), AllOf(HasSubstr(part), HasSubstr("not a regular file")));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_THAT(folder.error(), AllOf(HasSubstr(part), HasSubstr("not a regular file")));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_THAT(folder.error(), AllOf(HasSubstr(part), HasSubstr("not a regular file")));
}

TEST(SafetensorsIndex, IndexAndPartsMustAgree) {
  const Folder folder("llama_bf16_sharded");
  const nlohmann::json right = folder.read_index();
  const std::string name = "model.norm.weight";

  nlohmann::json index = right;
  index["weight_map"].erase(name);
  folder.write_index(index);
  EXPECT_THAT(folder.error(), HasSubstr("tensor model.norm.weight is not in"));

  index = right;
  index["weight_map"]["absent"] = right["weight_map"][name];
  folder.write_index(index);
  EXPECT_THAT(folder.error(), HasSubstr("weight_map: absent: no such tensor in"));

  index = right;
  for (const auto& [tensor, part] : right["weight_map"].items()) {
    if (part != right["weight_map"][name]) index["weight_map"][name] = part;
  }
  folder.write_index(index);
  EXPECT_THAT(folder.error(), HasSubstr("weight_map: model.norm.weight: no such tensor in"));

  std::filesystem::copy_file(folder.path() / std::string(right["weight_map"][name]),
                             folder.path() / "zz.safetensors");
  index = right;
  index["weight_map"][name] = "zz.safetensors";
  folder.write_index(index);
  EXPECT_THAT(folder.error(), HasSubstr("is in an earlier file too"));
}

TEST(SafetensorsIndex, WrongTypesKeysTwiceAndDeepNesting) {
  const Folder folder("llama_bf16_sharded");
  const std::string right = folder.read_index().dump();
  for (const char* text :
       {"[]", "{}", "null", "1", R"({"weight_map":[]})", R"({"weight_map":"model.safetensors"})"}) {
    folder.write_index(std::string(text));
    EXPECT_THAT(folder.error(), HasSubstr("weight_map is not an object")) << text;
  }
  for (const char* value : {"1", "null", "[]", "{}", "true"}) {
    folder.write_index(std::string(R"({"weight_map":{"a":)") + value + "}}");
    EXPECT_THAT(folder.error(), HasSubstr("weight_map: a: not the name")) << value;
  }
  folder.write_index(std::string(R"({"weight_map":{"a":"b","a":"b"}})"));
  EXPECT_THAT(folder.error(), HasSubstr("'a' appears twice"));
  folder.write_index(right + std::string(1, '\0') + "{");
  EXPECT_THAT(folder.error(), HasSubstr("zero byte"));
  for (const std::string open : {"[", R"({"a":)"}) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += open;
    folder.write_index(R"({"metadata":)" + deep);
    EXPECT_THAT(folder.error(), HasSubstr("nested deeper than 64 levels"));
  }
}

TEST(SafetensorsIndex, TruncatedAtEveryByte) {
  const Folder folder("llama_bf16_sharded");
  const std::string right = folder.read_index().dump();
  for (size_t size = 0; size < right.size(); ++size) {
    folder.write_index(right.substr(0, size));
    EXPECT_THAT(folder.error(), HasSubstr("not JSON")) << size;
  }
}

TEST(Safetensors, AFolderWithoutWeights) {
  const Folder folder("llama_f32");
  std::filesystem::remove(folder.path() / "model.safetensors");
  EXPECT_THAT(folder.error(), HasSubstr("neither model.safetensors nor"));
  std::filesystem::create_symlink("nowhere", folder.path() / "model.safetensors");
  EXPECT_THAT(folder.error(), HasSubstr("model.safetensors: cannot open"));
}

}  // namespace
}  // namespace adze::safetensors
