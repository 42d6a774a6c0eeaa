#include "base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace adze {
namespace {

std::string error_text(int code) { return std::generic_category().message(code); }

class FileInput final : public RandomAccessInput {
 public:
  explicit FileInput(const std::filesystem::path& path)
      : name_(printable(path.string(), kMaxPathBytes)) {
    // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw_invalid("{}: cannot open: {}", name_, error_text(errno));
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd_);
      throw_invalid("{}: not a regular file", name_);
    }
    size_ = static_cast<uint64_t>(info.st_size);
  }
  ~FileInput() override { ::close(fd_); }
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }

  void read(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw_unavailable("{}: offset {}: read failed: {}", name_, offset, error_text(errno));
      }
      if (got == 0) throw_invalid("{}: file ends at offset {}", name_, offset);
      offset += static_cast<uint64_t>(got);
      out = out.subspan(static_cast<size_t>(got));
    }
  }

 private:
  std::string name_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

class MemoryInput final : public RandomAccessInput {
 public:
  MemoryInput(const std::string& name, std::span<const std::byte> data)
      : name_(printable(name, kMaxPathBytes)), data_(data.begin(), data.end()) {}
  uint64_t size() const override { return data_.size(); }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > data_.size() || out.size() > data_.size() - offset) {
      throw_invalid("{}: file ends at offset {}", name_, data_.size());
    }
    if (!out.empty()) std::memcpy(out.data(), data_.data() + offset, out.size());
  }

 private:
  std::string name_;
  std::vector<std::byte> data_;
};

}  // namespace

std::unique_ptr<RandomAccessInput> open_input(const std::filesystem::path& path) {
  return std::make_unique<FileInput>(path);
}

bool is_present(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

std::unique_ptr<RandomAccessInput> memory_input(const std::string& name,
                                                std::span<const std::byte> data) {
  return std::make_unique<MemoryInput>(name, data);
}

std::string read_text_file(const std::filesystem::path& path, uint64_t limit) {
  const auto input = open_input(path);
  if (input->size() > limit) {
    throw_invalid("{}: {} bytes, more than the limit of {}", input->name(), input->size(), limit);
  }
  std::string text(static_cast<size_t>(input->size()), '\0');
  input->read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

AtomicFileWriter::AtomicFileWriter(std::filesystem::path path)
    : path_(std::move(path)), name_(printable(path_.string(), kMaxPathBytes)) {
  const auto cannot_create = [this](int code) {
    temporary_.clear();
    throw_unavailable("{}: cannot create: {}", name_, error_text(code));
  };
  std::error_code error;
  if (std::filesystem::is_symlink(path_, error)) {
    path_ = std::filesystem::canonical(path_, error);
    if (error) cannot_create(error.value());
  }
  struct stat before {};
  const bool replaces = ::stat(path_.c_str(), &before) == 0;
  if (replaces && !S_ISREG(before.st_mode)) {
    throw_invalid("{}: is there, and not a regular file", name_);
  }
  if (replaces && ::access(path_.c_str(), W_OK) != 0) cannot_create(errno);
  // Not mkstemp: its files are their owner's alone, and what the umask allows cannot be asked for
  // without a race.
  std::random_device random;
  do {
    temporary_ = path_.parent_path() / fmt::format(".adze-{:08x}", random());
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) cannot_create(errno);
  // Where it is somebody else's this may be refused; its own then stay.
  if (replaces) (void)::fchmod(fd_, before.st_mode & 0777);
}

AtomicFileWriter::~AtomicFileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFileWriter::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw_unavailable("{}: write failed: {}", name_, error_text(errno));
    }
    bytes_written_ += static_cast<uint64_t>(written);
    data = data.subspan(static_cast<size_t>(written));
  }
}

void AtomicFileWriter::commit() {
  if (::fsync(fd_) != 0) {
    throw_unavailable("{}: write failed: {}", name_, error_text(errno));
  }
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw_unavailable("{}: write failed: {}", name_, error_text(errno));
  }
  temporary_.clear();
  // The name reaches the disk with its folder; where that cannot be synced, later.
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int folder_fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) return;
  ::fsync(folder_fd);
  ::close(folder_fd);
}

}  // namespace adze
