// Lines typed at a terminal.
#pragma once

#include <memory>
#include <string>

#include "apps/cli/console.h"

namespace adze::cli {

// Line editing with arrow keys and a history, both by libedit. A paste (bracketed paste) may hold
// newlines: they become part of the line. Text is UTF-8 whatever the locale says. One at a time,
// on standard input; the prompt is drawn on standard output where that is a terminal, else on
// standard error.
class LineEditor {
 public:
  enum class Event { kLine, kInterrupted, kEnd };
  struct Input {
    Event event;
    std::string text;  // of a line without its newline; what was typed before Ctrl-C
  };

  // `guard` outlives it and has the program's Ctrl-C, which read() takes from it.
  explicit LineEditor(InterruptGuard& guard);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Waits for Enter, Ctrl-C, or Ctrl-D at an empty line. Throws Error{kUnavailable} where the
  // terminal cannot be used.
  Input read(const std::string& prompt);
  // Makes a line one that the up key brings back. In memory only.
  void remember(const std::string& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace adze::cli
