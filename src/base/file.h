// Files: positioned reads that never come short, and writes that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace adze {

// Random-access input. Implementations are safe to use from several threads at once.
class RandomAccessInput {
 public:
  virtual ~RandomAccessInput() = default;
  // Total bytes.
  virtual uint64_t size() const = 0;
  // Fills `out` from `offset`. Throws Error{kInvalidInput} naming file and offset where the input
  // ends early, and Error{kUnavailable} on an I/O error; short reads and EINTR are retried.
  virtual void read(uint64_t offset, std::span<std::byte> out) const = 0;
  // For messages, and fit for one line: the path, or a description.
  virtual const std::string& name() const = 0;
};

// A regular file opened for reading. Throws Error{kInvalidInput} where it is absent, a folder or
// not a regular file (a FIFO would block for ever).
std::unique_ptr<RandomAccessInput> open_input(const std::filesystem::path& path);

// Is there anything of that name? What cannot be looked at counts: opening it says why.
bool is_present(const std::filesystem::path& path);

// The bytes of `data` (copied) as an input; `name` is for messages. For tests and fuzzing.
std::unique_ptr<RandomAccessInput> memory_input(const std::string& name,
                                                std::span<const std::byte> data);

// The whole file as a string; at most `limit` bytes, else Error{kInvalidInput}.
std::string read_text_file(const std::filesystem::path& path, uint64_t limit = 64u << 20);

// Writes to a temporary neighbour and renames it into place in commit(), where links lead to. A
// file that is replaced passes its permissions on. Destroyed without commit(), it leaves nothing
// behind. Errors (a full disk too) are Error{kUnavailable} naming the path, and
// Error{kInvalidInput} where what is there is no regular file.
class AtomicFileWriter {
 public:
  explicit AtomicFileWriter(std::filesystem::path path);
  ~AtomicFileWriter();
  AtomicFileWriter(const AtomicFileWriter&) = delete;
  AtomicFileWriter& operator=(const AtomicFileWriter&) = delete;

  void write(std::span<const std::byte> data);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  uint64_t bytes_written() const { return bytes_written_; }
  // Flushes to the disk and renames.
  void commit();

 private:
  std::filesystem::path path_;
  std::string name_;  // for messages
  std::filesystem::path temporary_;
  int fd_ = -1;
  uint64_t bytes_written_ = 0;
};

}  // namespace adze
