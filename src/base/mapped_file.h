// Files mapped into memory, shared with other processes that map them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace adze {

// A regular file, readable as memory. What cannot be read any more (another process cut the file,
// or the disk fails) reads as zeros, and check() says so: the first MappedFile of a process
// installs a handler of SIGBUS that puts empty pages there, and leaves every other SIGBUS to the
// handler before it. A program that installs one of its own later has to do the same.
class MappedFile {
 public:
  // Throws as open_input() does, Error{kInvalidInput} for an empty file, and
  // Error{kResourceExhausted} where there is no address space or 256 files are mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // For messages, and fit for one line.
  const std::string& name() const { return name_; }
  // Throws Error{kUnavailable} once a page could not be read. Safe from any thread.
  void check() const;

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
  size_t slot_ = 0;  // of the handler's table
};

}  // namespace adze
