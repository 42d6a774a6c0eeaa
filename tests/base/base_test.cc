#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

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
