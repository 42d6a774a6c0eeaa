// The program `adze`: finds the command, runs it, and turns whatever goes wrong into one line on
// stderr and an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>

#include "apps/cli/command_line.h"
#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/model_store.h"
#include "base/error.h"

namespace adze::cli {
namespace {

constexpr const char* kOverview =
    "Shapes large language models: compiles them into fused plans and runs them fast.";
constexpr const char* kFooter =
    "Results go to standard output, messages to standard error. Exit codes: 0, 1 (an error in "
    "what\n"
    "the program was given), 2 (wrong usage), 130 (interrupted).\n"
    "`adze COMMAND --help` explains a command, with examples.";

void message(const char* text) { std::fprintf(stderr, "adze: %s\n", text); }

int wrong_usage(const std::string& what) {
  message(what.c_str());
  std::fputs("Try `adze --help` or `adze COMMAND --help`.\n", stderr);
  return kExitUsage;
}

void register_commands(CLI::App& app) {
#define ADZE_COMMAND(name) register_##name(app);
#include "apps/cli/commands.inc"
#undef ADZE_COMMAND
}

// Wherever a command takes a model, it takes a model's name too.
void accept_model_names(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    for (const char* name : kModelOptions) {
      if (CLI::Option* option = command->get_option_no_throw(name)) {
        option->transform([](const std::string& argument) { return resolve_model(argument); }, "");
      }
    }
  }
}

// Wrong usage, or --help and --version, which CLI11 reports in the same way.
int report_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    std::ostringstream text;
    app.exit(error, text, text);
    write_stdout(text.str());
    flush_stdout();
    return 0;
  }
  return wrong_usage(printable(error.what(), 400));
}

// What the command was given to work on, for errors that do not know it.
std::string input_of(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const char* name : kModelOptions) {
      const CLI::Option* option = command->get_option_no_throw(name);
      if (option != nullptr && option->count() > 0)
        return printable(option->results().back()) + ": ";
    }
  }
  return {};
}

int run(int argc, char** argv) {
  CLI::App app(kOverview, "adze");
  app.set_version_flag("--version", "adze " ADZE_VERSION, "Print the version and leave");
  app.require_subcommand(0, 1);
  register_commands(app);
  accept_model_names(app);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse(app, error);
  } catch (const std::bad_alloc&) {
    message((input_of(app) + "out of memory").c_str());
    return kExitError;
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kExitUsage;
  }
  flush_stdout();
  return 0;
}

}  // namespace
}  // namespace adze::cli

int main(int argc, char** argv) {
  using namespace adze::cli;
  prepare_console();
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    return wrong_usage(error.what());
  } catch (const Interrupted&) {
    return kExitInterrupted;
  } catch (const OutputClosed&) {
    return kExitError;
  } catch (const adze::Error& error) {
    message(error.what());
  } catch (const std::bad_alloc&) {
    message("out of memory");
  } catch (const std::exception& error) {
    message(error.what());
  }
  return kExitError;
}
