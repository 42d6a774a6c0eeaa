// Other programs, run and waited for.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/cli/console.h"

namespace adze::cli {

struct ChildProcess {
  std::vector<std::string> command;      // the program, looked up in PATH, and its arguments
  std::vector<std::string> environment;  // NAME=VALUE, besides this process's own
  std::filesystem::path log;             // takes what it writes to stderr
  std::function<void()> while_it_runs;   // called about ten times a second; may be empty
};

// Runs it to its end, with nothing on its standard input and its standard output dropped; its exit
// status, or 128 and the signal that ended it. Ctrl-C, which `guard` has, ends it and throws
// Interrupted. Throws Error{kUnavailable} where it cannot be started, naming the program.
int run_child(const ChildProcess& child, const InterruptGuard& guard);

}  // namespace adze::cli
