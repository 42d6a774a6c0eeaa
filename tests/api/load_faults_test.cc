// Opening models on a machine that misbehaves: pread is replaced by versions that come short, are
// interrupted, find the file ended, or fail at any one read.
#include <adze/engine.h>
#include <adze/error.h>
#include <adze/model.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "engine/tiny_model.h"

namespace {

enum class Fault { kNone, kShort, kInterrupted, kError, kEnd };
std::atomic<Fault> g_fault = Fault::kNone;
std::atomic<int64_t> g_reads = 0;
std::atomic<int64_t> g_faulty_read = 0;  // which one kError and kEnd strike

}  // namespace

extern "C" ssize_t pread(int fd, void* out, size_t count, off_t offset) {
  const int64_t read = g_reads++;
  switch (g_fault.load()) {
    case Fault::kNone:
      break;
    case Fault::kShort:
      count = std::min<size_t>(count, 1 + static_cast<size_t>(read % 61));
      break;
    case Fault::kInterrupted:
      if (read % 2 == 0) break;
      errno = EINTR;
      return -1;
    case Fault::kError:
      if (read != g_faulty_read) break;
      errno = EIO;
      return -1;
    case Fault::kEnd:
      if (read != g_faulty_read) break;
      return 0;
  }
  return ::syscall(SYS_pread64, fd, out, count, offset);
}

namespace adze {
namespace {

std::vector<int32_t> open_and_answer(const std::string& path) {
  ModelOptions options;
  options.threads = 1;
  options.context = 64;
  Model model(path, options);
  Engine engine(model);
  std::vector<int32_t> answer;
  Request request;
  request.tokens = {72, 105, 33};
  request.max_tokens = 8;
  request.ignore_end = true;
  request.sampling.temperature = 0;
  request.on_token = [&](const Token& token) {
    answer.push_back(token.id);
    return true;
  };
  engine.submit(std::move(request));
  while (engine.step()) {
  }
  return answer;
}

class LoadFaults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    g_fault = Fault::kNone;
    if (std::string(GetParam()) == "gguf") {
      path_ = testing::TempDir() + "tiny_load_faults.gguf";
      write_tiny_model(path_);
    } else {
      path_ = std::string(ADZE_SOURCE_DIR "/tests/golden/tiny/") + GetParam();
    }
    expected_ = answer_with(Fault::kNone);
    ASSERT_EQ(expected_.size(), 8u);
    reads_ = g_reads;
  }
  void TearDown() override { g_fault = Fault::kNone; }

  std::vector<int32_t> answer_with(Fault fault, int64_t faulty_read = 0) {
    g_reads = 0;
    g_faulty_read = faulty_read;
    g_fault = fault;
    return open_and_answer(path_);
  }

  std::string path_;
  std::vector<int32_t> expected_;
  int64_t reads_ = 0;  // that opening takes
};

TEST_P(LoadFaults, ShortAndInterruptedReadsAreContinued) {
  EXPECT_EQ(answer_with(Fault::kShort), expected_);
  EXPECT_GT(g_reads, 20 * reads_);
  EXPECT_EQ(answer_with(Fault::kInterrupted), expected_);
}

// Every read, of headers, tables, tokenizers and weights.
TEST_P(LoadFaults, AFailedReadNamesTheFile) {
  ASSERT_GE(reads_, 10);
  for (const auto& [fault, kind] : {std::pair{Fault::kError, ErrorKind::kUnavailable},
                                    std::pair{Fault::kEnd, ErrorKind::kInvalidInput}}) {
    for (int64_t read = 0; read < reads_; ++read) {
      try {
        answer_with(fault, read);
        ADD_FAILURE() << "read " << read << " of " << reads_ << " failed, and nothing was said";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_THAT(error.what(), testing::HasSubstr(path_));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, LoadFaults,
                         testing::Values("gguf", "llama_bf16_sharded", "gemma3_bf16"));

}  // namespace
}  // namespace adze
