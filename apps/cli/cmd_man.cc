// `adze man`: the manual page.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "apps/cli/command_line.h"
#include "apps/cli/commands.h"
#include "apps/cli/console.h"

namespace adze::cli {
namespace {

// Text as roff means it: backslashes and hyphens as they are, and no line a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string synopsis(const CommandText& command) {
  std::string line = ".B adze";
  if (!command.path.empty()) line += " " + roff(command.name());
  std::string arguments;
  for (const OptionText& option : command.options) {
    if (!option.required) continue;
    const std::string& name = option.names.back();
    arguments += option.positional
                     ? " \\fI" + roff(name) + "\\fR"
                     : fmt::format(" \\fB{}\\fR \\fI{}\\fR", roff(name), option.value);
  }
  return fmt::format("{}\n[\\fIOPTIONS\\fR]{}{}\n", line, arguments,
                     command.commands.empty() ? "" : " \\fICOMMAND\\fR");
}

std::string option_entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  }
  if (!option.value.empty()) {
    const std::string choices = fmt::format("{}", fmt::join(option.choices, "|"));
    names += fmt::format(" \\fI{}\\fR", roff(choices.empty() ? option.value : choices));
  }
  const std::string normally =
      option.default_value.empty() ? "" : fmt::format(" (default: {})", option.default_value);
  return fmt::format(".TP\n{}\n{}{}.\n", names, roff(option.description), roff(normally));
}

std::string manual(const CommandText& program) {
  std::string page = fmt::format(
      ".TH ADZE 1 \"\" \"adze {}\" \"User Commands\"\n.SH NAME\nadze \\- shapes, compiles and runs "
      "large language models\n.SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n",
      ADZE_VERSION, synopsis(program), roff(program.description));
  for (const OptionText& option : program.options) page += option_entry(option);
  page += ".SH COMMANDS\n";
  for (const CommandText* command : flatten(program)) {
    if (command->path.empty()) continue;
    page += fmt::format(".SS adze {}\n{}.PP\n{}.\n", roff(command->name()), synopsis(*command),
                        roff(command->description));
    for (const OptionText& option : command->options) page += option_entry(option);
    if (!command->footer.empty()) page += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->footer));
  }
  page +=
      ".SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\nAn error in what the program was given.\n.TP\n2\n"
      "Wrong usage.\n.TP\n130\nInterrupted by Ctrl\\-C.\n"
      ".SH ENVIRONMENT\n.TP\n\\fBADZE_ISA\\fR\nInstruction set of the kernels: reference, avx2, "
      "avx512 or amx (default: the best that the CPU has).\n.TP\n\\fBNO_COLOR\\fR\n"
      "If set, no colours.\n"
      ".TP\n\\fBXDG_CACHE_HOME\\fR\nWhere models are kept, in adze/models (default: ~/.cache).\n";
  return page;
}

}  // namespace

void register_man(CLI::App& app) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  command->footer(
      "Examples:\n"
      "  adze man | man -l -\n"
      "  adze man > /usr/local/share/man/man1/adze.1");
  command->callback([&app] { write_stdout(manual(describe(app))); });
}

}  // namespace adze::cli
