#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace adze {
namespace {

TEST(AtomicFileWriter, AppearsOnlyOnCommit) {
  const auto path = std::filesystem::temp_directory_path() / "adze_base_test.txt";
  std::filesystem::remove(path);
  { AtomicFileWriter(path).write("lost"); }
  EXPECT_FALSE(std::filesystem::exists(path));
  AtomicFileWriter writer(path);
  writer.write("kept");
  writer.commit();
  EXPECT_EQ(read_text_file(path), "kept");
  std::filesystem::remove(path);
}

class Replacing : public testing::Test {
 protected:
  Replacing() { std::filesystem::create_directory(folder_); }
  ~Replacing() override { std::filesystem::remove_all(folder_); }
  static void write(const std::filesystem::path& path, std::string_view text) {
    AtomicFileWriter writer(path);
    writer.write(text);
    writer.commit();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("adze_replacing_{}", ::getpid());
};

TEST_F(Replacing, KeepsPermissions) {
  using std::filesystem::perms;
  const auto path = folder_ / "private";
  write(path, "old");
  std::filesystem::permissions(path, perms::owner_read | perms::owner_write);
  write(path, "new");
  EXPECT_EQ(read_text_file(path), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(Replacing, FollowsLinks) {
  const auto path = folder_ / "file";
  const auto link = folder_ / "link";
  write(path, "old");
  std::filesystem::create_symlink("file", link);
  write(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_text_file(path), "new");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  EXPECT_THROW(AtomicFileWriter(folder_ / "dangling"), Error);
}

TEST_F(Replacing, RefusesWhatIsNoRegularFile) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(AtomicFileWriter writer(pipe), Error);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_THROW(AtomicFileWriter writer(folder_), Error);
  EXPECT_TRUE(std::filesystem::is_directory(folder_));
}

TEST(FileInput, RefusesFoldersAndShortReads) {
  const auto input = memory_input("four bytes", std::as_bytes(std::span("abc")));
  std::byte out[5];
  EXPECT_THROW(input->read(0, out), Error);
  EXPECT_THROW(input->read(UINT64_MAX, std::span(out, 1)), Error);
  EXPECT_THROW(open_input("/"), Error);
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
}

}  // namespace
}  // namespace adze
