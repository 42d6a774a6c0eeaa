#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <system_error>

#include "base/error.h"

namespace adze {
namespace {

// What the handler knows. A slot is free where `begin` is 0; `end` is written before `begin`.
struct Slot {
  std::atomic<uintptr_t> begin = 0;
  std::atomic<uintptr_t> end = 0;
  std::atomic<bool> taken = false;
  std::atomic<bool> failed = false;
};
std::array<Slot, 256> g_slots;
struct sigaction g_before;
static_assert(std::atomic<uintptr_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

// Async-signal-safe: loads and stores of atomics and one system call.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Slot& slot : g_slots) {
    const uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= slot.end.load(std::memory_order_relaxed)) {
      continue;
    }
    const int saved = errno;
    const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* page = static_cast<std::byte*>(info->si_addr) - address % page_bytes;
    const void* made =
        ::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = saved;
    if (made == MAP_FAILED) break;
    slot.failed.store(true, std::memory_order_release);
    return;
  }
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(signal, info, context);
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    return g_before.sa_handler(signal);
  }
  // The access is tried again, and ends the process as it would have.
  ::signal(SIGBUS, SIG_DFL);
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, nullptr, &g_before);
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string error_text(int code) { return std::generic_category().message(code); }

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    : name_(printable(path.string(), kMaxPathBytes)) {
  // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw_invalid("{}: cannot open: {}", name_, error_text(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    throw_invalid("{}: not a regular file", name_);
  }
  if (info.st_size == 0) throw_invalid("{}: an empty file", name_);
  const auto size = static_cast<size_t>(info.st_size);
  slot_ = 0;
  while (slot_ < g_slots.size() && g_slots[slot_].taken.exchange(true)) ++slot_;
  if (slot_ == g_slots.size()) throw_exhausted("{}: {} files are mapped already", name_, slot_);
  Slot& slot = g_slots[slot_];
  install_handler();
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) {
    const int code = errno;
    slot.taken = false;
    throw_exhausted("{}: cannot map {} bytes: {}", name_, size, error_text(code));
  }
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  slot.failed = false;
  slot.end.store(begin + size, std::memory_order_relaxed);
  slot.begin.store(begin, std::memory_order_release);
  bytes_ = {static_cast<const std::byte*>(mapped), size};
}

MappedFile::~MappedFile() {
  Slot& slot = g_slots[slot_];
  slot.begin.store(0, std::memory_order_release);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  slot.taken = false;
}

void MappedFile::check() const {
  if (g_slots[slot_].failed.load(std::memory_order_acquire)) {
    throw_unavailable("{}: part of it could not be read: was it cut since it was opened?", name_);
  }
}

}  // namespace adze
