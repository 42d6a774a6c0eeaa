// Files on a machine that misbehaves: pread and fsync are replaced by versions that come short, are
// interrupted and fail; writing meets a real limit.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace {

enum class Fault { kNone, kShort, kInterrupted, kError };
Fault g_read_fault = Fault::kNone;
int g_reads = 0;
int g_fsync_error = 0;

}  // namespace

extern "C" ssize_t pread(int fd, void* out, size_t count, off_t offset) {
  ++g_reads;
  if (g_read_fault == Fault::kInterrupted && g_reads % 2 == 1) {
    errno = EINTR;
    return -1;
  }
  if (g_read_fault == Fault::kError && g_reads > 1) {
    errno = EIO;
    return -1;
  }
  if (g_read_fault != Fault::kNone) count = std::min<size_t>(count, 3);
  return ::syscall(SYS_pread64, fd, out, count, offset);
}

extern "C" int fsync(int fd) {
  if (g_fsync_error != 0) {
    errno = g_fsync_error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace adze {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class FileFaults : public testing::Test {
 protected:
  FileFaults() {
    std::string pattern = testing::TempDir() + "faults.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    g_read_fault = Fault::kNone;
    g_reads = 0;
    g_fsync_error = 0;
  }
  ~FileFaults() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, std::string_view text) {
    AtomicFileWriter writer(folder_ / name);
    writer.write(text);
    writer.commit();
    return folder_ / name;
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

TEST_F(FileFaults, ShortAndInterruptedReadsAreContinued) {
  const auto path = write("text", "twenty bytes of text");
  for (const Fault fault : {Fault::kShort, Fault::kInterrupted}) {
    g_read_fault = fault;
    g_reads = 0;
    EXPECT_EQ(read_text_file(path), "twenty bytes of text");
    EXPECT_GE(g_reads, 7);
  }
}

TEST_F(FileFaults, ReadErrorsNameFileAndOffset) {
  const auto path = write("text", "twenty bytes of text");
  const auto input = open_input(path);
  g_read_fault = Fault::kError;
  std::vector<std::byte> out(10);
  try {
    input->read(5, out);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(path.string()), HasSubstr("offset 8"), HasSubstr("error")));
  }
}

TEST_F(FileFaults, AFileThatShrinksWhileOpenIsAnError) {
  const auto path = write("text", "twenty bytes of text");
  const auto input = open_input(path);
  std::filesystem::resize_file(path, 7);
  std::vector<std::byte> out(20);
  EXPECT_THAT([&] { input->read(0, out); },
              ThrowsMessage<Error>(AllOf(HasSubstr(path.string()), HasSubstr("offset 7"))));
}

TEST_F(FileFaults, FifosAreRefusedAtOnce) {
  const auto path = folder_ / "fifo\nname";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT([&] { open_input(path); },
              ThrowsMessage<Error>(HasSubstr("fifo\\x0aname: not a regular file")));
}

// No process may write files larger than `bytes` while this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit now { bytes, before_.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  struct rlimit before_ {};
  void (*handler_)(int) = nullptr;
};

TEST_F(FileFaults, AWriteThatFindsNoRoomLeavesTheOldFile) {
  const auto path = write("model", "old");
  {
    const FileSizeLimit limit(10000);
    AtomicFileWriter writer(path);
    writer.write(std::string(9000, 'x'));
    EXPECT_THAT([&] { writer.write(std::string(9000, 'y')); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path.string()), HasSubstr("write failed"))));
  }
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileFaults, AnErrorFoundWhenFlushingLeavesTheOldFile) {
  const auto path = write("model", "old");
  {
    AtomicFileWriter writer(path);
    writer.write("new");
    g_fsync_error = ENOSPC;
    EXPECT_THAT([&] { writer.commit(); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path.string()), HasSubstr("No space"))));
  }
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileFaults, AWriterIntoAnAbsentFolderNamesIt) {
  EXPECT_THAT([&] { AtomicFileWriter writer(folder_ / "absent" / "file"); },
              ThrowsMessage<Error>(HasSubstr("absent/file")));
}

}  // namespace
}  // namespace adze
