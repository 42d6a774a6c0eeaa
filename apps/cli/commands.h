// How a command of the program is made.
//
// A command is one file cmd_<name>.cc with one function register_<name>(), and one line in
// commands.inc. The function adds a sub-command to `app` with its options, and a callback that does
// the work:
//
//   void register_greet(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     CLI::App* command = app.add_subcommand("greet", "Say hello");
//     command->add_option("NAME", options->name, "Who")->required();
//     command->footer("Examples:\n  adze greet world");
//     command->callback([options] { print("hello {}\n", options->name); });
//   }
//
// A callback throws Error for what is wrong with its input, and UsageError for options that
// contradict each other. main() turns those, and everything else, into one line on stderr and the
// exit code. Results go to stdout through console.h, messages to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>

namespace adze::cli {

inline constexpr int kExitError = 1;          // something wrong with what the program was given
inline constexpr int kExitUsage = 2;          // wrong options
inline constexpr int kExitInterrupted = 130;  // Ctrl-C

// Options that are each well-formed but do not go together. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

#define ADZE_COMMAND(name) void register_##name(CLI::App& app);
#include "apps/cli/commands.inc"
#undef ADZE_COMMAND

}  // namespace adze::cli
