#include "apps/cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "apps/cli/commands.h"
#include "base/error.h"

namespace adze::cli {
namespace {

// Touched by the signal handler: lock-free.
enum class Guard : int { kNone, kOnce, kPatient };
std::atomic<Guard> g_guard{Guard::kNone};
std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Guard>::is_always_lock_free);

void on_interrupt(int) {
  const Guard guard = g_guard.load();
  const bool second = g_interrupted.exchange(true);
  if (guard == Guard::kNone || (guard == Guard::kOnce && second)) ::_exit(kExitInterrupted);
}

[[noreturn]] void stdout_failed() {
  const int code = errno;
  // What is buffered cannot be written either: main() must not try again.
  std::clearerr(stdout);
  if (code == EPIPE) throw OutputClosed{};
  throw_unavailable("standard output: write failed: {}", std::generic_category().message(code));
}

[[noreturn]] void stdin_failed() {
  throw_unavailable("standard input: read failed: {}", std::generic_category().message(errno));
}

}  // namespace

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) stdout_failed();
}

void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string read_stdin(size_t limit) {
  std::string data;
  std::vector<char> block(1 << 16);
  while (const size_t got = std::fread(block.data(), 1, block.size(), stdin)) {
    data.append(block.data(), got);
    if (data.size() > limit) {
      throw_exhausted("standard input: more than the limit of {} bytes", limit);
    }
  }
  if (std::ferror(stdin) != 0) stdin_failed();
  return data;
}

std::optional<std::string> read_stdin_line(size_t limit) {
  std::string line;
  int character = 0;
  while ((character = std::getc(stdin)) != EOF && character != '\n') {
    line += static_cast<char>(character);
    if (line.size() > limit) {
      throw_exhausted("standard input: a line of more than the limit of {} bytes", limit);
    }
  }
  if (character == EOF && std::ferror(stdin) != 0) stdin_failed();
  if (character == EOF && line.empty()) return std::nullopt;
  return line;
}

std::string for_terminal(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, the other half of the control characters, are 0xc2 and one more byte.
    const bool c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1 || byte == 0x7f || (byte < 0x20 && byte != '\n' && byte != '\t')) {
      out += "\xef\xbf\xbd";
      if (c1) ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool wants_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(fd) != 0 && (no_color == nullptr || *no_color == '\0');
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) stdout_failed();
}

void prepare_console() {
  for (int fd = 0; fd <= 2; ++fd) {
    // The lowest free descriptor is `fd`. Neither can be used for what it is there for.
    const int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) (void)::open("/dev/null", wrong_way);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::InterruptGuard(Second second) {
  assert(g_guard.load() == Guard::kNone);
  g_interrupted.store(false);
  g_guard.store(second == Second::kIsIgnored ? Guard::kPatient : Guard::kOnce);
}
InterruptGuard::~InterruptGuard() { g_guard.store(Guard::kNone); }
bool InterruptGuard::interrupted() const { return g_interrupted.load(); }
void InterruptGuard::reset() { g_interrupted.store(false); }

}  // namespace adze::cli
