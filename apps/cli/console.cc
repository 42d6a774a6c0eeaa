#include "apps/cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <vector>

#include "apps/cli/commands.h"
#include "base/error.h"

namespace adze::cli {
namespace {

// Touched by the signal handler: lock-free.
std::atomic<bool> g_guarded{false};
std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) {
  if (!g_guarded.load() || g_interrupted.exchange(true)) ::_exit(kExitInterrupted);
}

[[noreturn]] void stdout_failed() {
  const int code = errno;
  // What is buffered cannot be written either: main() must not try again.
  std::clearerr(stdout);
  if (code == EPIPE) throw OutputClosed{};
  throw_unavailable("standard output: write failed: {}", std::generic_category().message(code));
}

}  // namespace

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) stdout_failed();
}

std::string read_stdin(size_t limit) {
  std::string data;
  std::vector<char> block(1 << 16);
  while (const size_t got = std::fread(block.data(), 1, block.size(), stdin)) {
    data.append(block.data(), got);
    if (data.size() > limit) {
      throw_exhausted("standard input: more than the limit of {} bytes", limit);
    }
  }
  if (std::ferror(stdin) != 0) {
    throw_unavailable("standard input: read failed: {}", std::generic_category().message(errno));
  }
  return data;
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) stdout_failed();
}

void prepare_console() {
  for (int fd = 0; fd <= 2; ++fd) {
    // Read-only: reading finds the end, writing fails. The lowest free descriptor is `fd`.
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::InterruptGuard() {
  assert(!g_guarded.load());
  g_interrupted.store(false);
  g_guarded.store(true);
}
InterruptGuard::~InterruptGuard() { g_guarded.store(false); }
bool InterruptGuard::interrupted() const { return g_interrupted.load(); }

}  // namespace adze::cli
