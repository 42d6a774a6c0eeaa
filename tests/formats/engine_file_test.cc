#include "formats/engine_file/engine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"

namespace adze::engine_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr size_t kHeaderBytes = 128;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class EngineFile : public testing::Test {
 protected:
  EngineFile() {
    const std::vector<Section> sections = {{"first", std::as_bytes(std::span(first_))},
                                           {"empty", {}},
                                           {"last", std::as_bytes(std::span(last_))}};
    write(path_, {{"answer", 42}, {"name", "tiny"}}, sections, [this](size_t done, size_t total) {
      EXPECT_LE(done, total);
      done_ = done;
    });
    std::ifstream file(path_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }

  // A file with these bytes.
  std::filesystem::path file_of(const std::string& bytes) const {
    const std::filesystem::path path = testing::TempDir() + "engine_file_bad.adze";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }

  std::string first_ = "a section of text";
  std::string last_ = std::string(1000, 'x');
  std::filesystem::path path_ = testing::TempDir() + "engine_file.adze";
  std::string bytes_;
  size_t done_ = 0;
};

TEST_F(EngineFile, ReadsWhatWasWritten) {
  const File file(path_);
  EXPECT_EQ(file.size(), bytes_.size());
  EXPECT_EQ(file.model()["answer"], 42);
  EXPECT_EQ(file.model()["name"], "tiny");
  EXPECT_EQ(text_of(file.require("first")), first_);
  EXPECT_EQ(text_of(file.require("empty")), "");
  EXPECT_EQ(text_of(file.require("last")), last_);
  EXPECT_FALSE(file.find("other").has_value());
  EXPECT_THAT([&] { file.require("other"); },
              ThrowsMessage<Error>(HasSubstr("no section 'other'")));
  EXPECT_EQ(file.sections().size(), 3u);
  EXPECT_GT(done_, last_.size());
  for (const auto& [name, bytes] : file.sections()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kSectionAlignment, 0u) << name;
  }
}

// The layout that the header describes, byte by byte.
TEST_F(EngineFile, LiesAsDescribed) {
  EXPECT_EQ(bytes_.substr(0, 8), "ADZEMOD\n");
  uint32_t version = 0;
  uint64_t sizes[2] = {};
  std::memcpy(&version, bytes_.data() + 8, 4);
  std::memcpy(sizes, bytes_.data() + 16, 16);
  EXPECT_EQ(version, 1u);
  EXPECT_EQ(sizes[0], bytes_.size());
  EXPECT_EQ(bytes_[kHeaderBytes], '{');
  EXPECT_EQ(bytes_[kHeaderBytes + sizes[1] - 1], '}');
  EXPECT_EQ(bytes_.substr(4096, first_.size()), first_);
  EXPECT_EQ(bytes_.substr(4096 + 64, last_.size()), last_);
  EXPECT_EQ(bytes_.size(), 4096u + 64 + 1024);
}

TEST_F(EngineFile, EveryTruncationIsAnError) {
  for (size_t size = 0; size < bytes_.size(); size += size < 400 ? 1 : 97) {
    const auto path = file_of(bytes_.substr(0, size));
    EXPECT_THROW(File file(path), Error) << size;
    EXPECT_EQ(is_engine_file(path), size >= 8) << size;
  }
}

TEST_F(EngineFile, EveryChangedByteOfHeaderAndTableIsAnError) {
  uint64_t table = 0;
  std::memcpy(&table, bytes_.data() + 24, 8);
  for (size_t i = 0; i < kHeaderBytes + table; ++i) {
    if (i >= 96 && i < kHeaderBytes) continue;  // has no meaning yet
    for (const int bit : {1, 0x80}) {
      std::string bad = bytes_;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      const auto path = file_of(bad);
      EXPECT_THROW(File file(path), Error) << i;
    }
  }
}

TEST_F(EngineFile, AnotherVersionSaysWhatToDo) {
  std::string newer = bytes_;
  newer[8] = 7;
  const auto path = file_of(newer);
  EXPECT_THAT([&] { File file(path); },
              ThrowsMessage<Error>(HasSubstr("version 7; this program reads version 1: compile")));
}

TEST_F(EngineFile, WhatIsInterruptedLeavesTheOldFile) {
  const std::vector<Section> sections = {{"all", std::as_bytes(std::span(last_))}};
  EXPECT_THROW(write(path_, {}, sections, [](size_t, size_t) { throw 1; }), int);
  EXPECT_EQ(File(path_).model()["answer"], 42);
  EXPECT_FALSE(is_engine_file(testing::TempDir() + "no_such_file"));
}

}  // namespace
}  // namespace adze::engine_file
