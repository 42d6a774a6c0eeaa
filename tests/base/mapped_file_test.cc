#include "base/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace adze {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr size_t kPage = 4096;

std::filesystem::path write(const std::string& name, size_t bytes) {
  const std::filesystem::path path = testing::TempDir() + name;
  std::ofstream file(path, std::ios::binary);
  for (size_t i = 0; i < bytes; ++i) file.put(static_cast<char>(1 + i % 100));
  return path;
}

size_t sum_of(std::span<const std::byte> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), size_t{0},
                         [](size_t sum, std::byte b) { return sum + static_cast<size_t>(b); });
}

TEST(MappedFile, ShowsTheFile) {
  const MappedFile file(write("mapped", 3 * kPage + 10));
  ASSERT_EQ(file.bytes().size(), 3 * kPage + 10);
  EXPECT_EQ(file.bytes()[0], std::byte{1});
  EXPECT_EQ(file.bytes()[kPage + 3], std::byte{1 + (kPage + 3) % 100});
  EXPECT_NO_THROW(file.check());
}

TEST(MappedFile, WhatIsCutReadsAsZerosAndIsAnError) {
  const auto path = write("mapped_cut", 4 * kPage);
  const auto other_path = write("mapped_whole", 4 * kPage);
  const auto file = std::make_unique<MappedFile>(path);
  const MappedFile other(other_path);
  std::filesystem::resize_file(path, 100);
  const size_t first_page = sum_of(file->bytes().first(100));
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] { EXPECT_EQ(sum_of(file->bytes()), first_page); });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_THAT([&] { file->check(); }, ThrowsMessage<Error>(HasSubstr(path.string())));
  EXPECT_NO_THROW(other.check());
  // Its place is free for another file, which is whole.
  const MappedFile next(other_path);
  EXPECT_NO_THROW(next.check());
}

TEST(MappedFile, WhatCannotBeMappedSaysWhy) {
  EXPECT_THAT([] { MappedFile("/no/such"); },
              ThrowsMessage<Error>(HasSubstr("/no/such: cannot open")));
  EXPECT_THAT([] { MappedFile{std::filesystem::path(testing::TempDir())}; },
              ThrowsMessage<Error>(HasSubstr("not a regular file")));
  EXPECT_THAT([] { MappedFile(write("mapped_empty", 0)); },
              ThrowsMessage<Error>(HasSubstr("an empty file")));
  const auto path = write("mapped_often", 1);
  std::vector<std::unique_ptr<MappedFile>> files;
  EXPECT_THAT(
      [&] {
        while (true) files.push_back(std::make_unique<MappedFile>(path));
      },
      ThrowsMessage<Error>(HasSubstr("are mapped already")));
  EXPECT_EQ(files.size(), 256u);
}

// A bus error that is none of a mapped file's ends the program as ever.
TEST(MappedFileDeathTest, OtherBusErrorsStayWhatTheyAre) {
  const auto path = write("mapped_other", 2 * kPage);
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);  // a sanitizer's, if there is one
        const MappedFile file(path);
        const int fd = ::open(path.c_str(), 0);
        const auto* foreign =
            static_cast<const char*>(::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, fd, 0));
        std::filesystem::resize_file(path, 1);
        volatile char read = foreign[kPage];
        static_cast<void>(read);
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace adze
