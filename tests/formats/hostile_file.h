// What the tests of broken files have in common, whatever the format: parsing costs little, and a
// disk or an allocator that fails is reported.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "tests/base/counted_allocations.h"

namespace adze {

// What parsing may cost: a few times the file, and the small things of any file.
inline size_t allowance(size_t file_size) { return 8 * file_size + (64 << 10); }

// The error of parsing the bytes, or nothing where they are a valid file, whose parts
// `read_everything` touches. Checks what holds for all.
template <typename File>
std::optional<Error> parse_error(const std::string& name, const std::string& bytes,
                                 void (*read_everything)(const File&)) {
  std::optional<Error> error;
  auto input = memory_input(name, std::as_bytes(std::span(bytes)));
  {
    const CountedAllocations allocations;
    try {
      const File file = File::parse(std::move(input));
      EXPECT_LE(allocations.peak(), allowance(bytes.size()));
      read_everything(file);
    } catch (const Error& caught) {
      EXPECT_LE(allocations.peak(), allowance(bytes.size()));
      error = caught;
    }
  }
  if (error) {
    const std::string message = error->what();
    EXPECT_THAT(message, testing::StartsWith(name));
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
    EXPECT_LT(message.size(), 400u);
    EXPECT_NE(error->kind(), ErrorKind::kInternal) << message;
  }
  return error;
}

// How many allocations of parsing the bytes can fail; each must come out as std::bad_alloc.
template <typename File>
size_t failed_allocations(const std::string& name, const std::string& bytes) {
  const FailedAllocations failed = fail_each_allocation(
      [&] { (void)File::parse(memory_input(name, std::as_bytes(std::span(bytes)))); });
  EXPECT_EQ(failed.thrown, failed.all);
  return failed.all;
}

// Fails its n-th read, as a disk does.
class FailingInput final : public RandomAccessInput {
 public:
  FailingInput(std::string name, std::string bytes, int good_reads)
      : name_(std::move(name)), bytes_(std::move(bytes)), good_reads_(good_reads) {}
  uint64_t size() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    ASSERT_LE(offset + out.size(), bytes_.size());
    if (good_reads_-- == 0) throw_unavailable("{}: offset {}: Input/output error", name_, offset);
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::string name_;
  std::string bytes_;
  mutable int good_reads_;
};

// How many reads fail before parsing the bytes and then `read` succeed; each failure must be
// reported.
template <typename File>
int failed_reads(const std::string& name, const std::string& bytes, void (*read)(const File&)) {
  for (int good = 0;; ++good) {
    try {
      read(File::parse(std::make_unique<FailingInput>(name, bytes, good)));
      return good;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
      EXPECT_THAT(error.what(), testing::HasSubstr("Input/output error"));
    }
  }
}

}  // namespace adze
