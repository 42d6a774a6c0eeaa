// The terminal's side of the program: standard output that notices when it cannot be written, and
// Ctrl-C.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace adze::cli {

// Whoever read standard output has stopped, as `head` does: leave with exit code 1 and no message.
struct OutputClosed {};

// Writes to stdout (buffered). Throws OutputClosed, and Error{kUnavailable} where it cannot be
// written for another reason: a full disk.
void write_stdout(std::string_view text);
// Writes a message, which nothing depends on, to stderr: where it cannot be written it is lost.
void write_stderr(std::string_view text);
// Writes out what is buffered; for text that must appear at once. Throws as write_stdout().
void flush_stdout();

// All of standard input. Throws Error{kUnavailable} where it cannot be read, and
// Error{kResourceExhausted} where there is more than `limit` bytes.
std::string read_stdin(size_t limit);
// The next line of it without its newline; nothing at the end. Throws as read_stdin().
std::optional<std::string> read_stdin_line(size_t limit);

// Text for a terminal: control characters but newline and tab become U+FFFD, so that what a model
// or a file says cannot drive the terminal. `text` is UTF-8.
std::string for_terminal(std::string_view text);
// The stream is a terminal, and NO_COLOR is not set (https://no-color.org).
bool wants_color(int fd);

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_stdout(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void print_stderr(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

// Prepares the process: a closed pipe and a file above the limit of its size are errors of whoever
// writes, not signals; standard streams that were closed by the caller fail when used instead of
// naming the next file that is opened; Ctrl-C ends the program at once with exit code 130. Called
// once by main().
void prepare_console();

// Lives while a command wants to end by itself on Ctrl-C, to finish a line or print statistics: the
// first Ctrl-C then makes interrupted() true; a second one ends the program at once, unless the
// guard is patient. Throw Interrupted to leave with exit code 130. One at a time.
class InterruptGuard {
 public:
  enum class Second { kEndsProgram, kIsIgnored };

  explicit InterruptGuard(Second second = Second::kEndsProgram);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool interrupted() const;
  // Forgets the last Ctrl-C: it has been dealt with.
  void reset();
};

struct Interrupted {};

}  // namespace adze::cli
