// `adze completions`: what makes a shell complete adze's command lines.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line.h"
#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/model_store.h"

namespace adze::cli {
namespace {

// What may stand for an option's value, besides a file.
std::vector<std::string> values(const OptionText& option) {
  return option.model ? model_names() : option.choices;
}

// Text in single quotes, for any of the three shells; fish knows \' alone, the others '\''.
std::string quoted(const std::string& text, const char* quote = "'\\''") {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? quote : std::string(1, c);
  return out + "'";
}

std::vector<std::string> words(const CommandText& command) {
  std::vector<std::string> all;
  all.reserve(command.commands.size() + 2 * command.options.size());
  for (const CommandText& within : command.commands) all.push_back(within.path.back());
  for (const OptionText& option : command.options) {
    if (!option.positional) all.insert(all.end(), option.names.begin(), option.names.end());
    if (option.positional) {
      const std::vector<std::string> known = values(option);
      all.insert(all.end(), known.begin(), known.end());
    }
  }
  return all;
}

// Whether an argument of its own may be a file.
bool takes_file(const CommandText& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionText& o) { return o.positional && o.choices.empty(); });
}

std::string bash(const CommandText& program) {
  std::string paths;
  std::string value_cases;
  std::string word_cases;
  for (const CommandText* command : flatten(program)) {
    const std::string name = command->name();
    if (!name.empty()) paths += (paths.empty() ? "" : "|") + quoted(name);
    word_cases += fmt::format("      {}) words={} files={} ;;\n", quoted(name),
                              quoted(fmt::format("{}", fmt::join(words(*command), " "))),
                              takes_file(*command) ? 1 : 0);
    for (const OptionText& option : command->options) {
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      patterns.reserve(option.names.size());
      for (const std::string& spelling : option.names) {
        patterns.push_back(quoted(fmt::format("{}:{}", name, spelling)));
      }
      value_cases += fmt::format("    {}) words={} files={} ;;\n", fmt::join(patterns, "|"),
                                 quoted(fmt::format("{}", fmt::join(values(option), " "))),
                                 option.choices.empty() ? 1 : 0);
    }
  }
  return fmt::format(R"(# bash completion for adze; load it with: source <(adze completions bash)
_adze() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command= candidate words= files= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    candidate="${{command:+$command }}${{COMP_WORDS[i]}}"
    case $candidate in
      {}) command=$candidate ;;
    esac
  done
  case "$command:$previous" in
{}  esac
  if [ -z "$files" ]; then
    case "$command" in
{}    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [ "$files" = 1 ] && [[ $current != -* ]]; then
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _adze adze
)",
                     paths, value_cases, word_cases);
}

// A description within an _arguments specification: brackets and colons end it.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionText& option) {
  std::string action = "_files";
  const std::vector<std::string> known = values(option);
  if (!known.empty()) {
    action = fmt::format("_alternative \"value:value:({})\"{}", fmt::join(known, " "),
                         option.model ? " \"file:file:_files\"" : "");
  }
  if (option.positional) {
    return quoted(fmt::format("1:{}:{}", zsh_text(option.names.front()), action));
  }
  std::string specifications;
  for (const std::string& name : option.names) {
    specifications += specifications.empty() ? "" : " ";
    specifications += quoted(
        fmt::format("*{}[{}]{}", name, zsh_text(option.description),
                    option.value.empty() ? "" : fmt::format(":{}:{}", option.value, action)));
  }
  return specifications;
}

std::string zsh(const CommandText& program) {
  std::string functions;
  for (const CommandText* command : flatten(program)) {
    const std::string suffix = command->path.empty() ? "" : "_" + command->name("_");
    std::string body = "  local state line\n  _arguments -C";
    for (const OptionText& option : command->options) body += " \\\n    " + zsh_option(option);
    if (command->commands.empty()) {
      functions += fmt::format("_adze{}() {{\n{}\n}}\n", suffix, body);
      continue;
    }
    body += " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n";
    body += "    command) local -a commands=(";
    std::string dispatch;
    for (const CommandText& within : command->commands) {
      const std::string& name = within.path.back();
      body += "\n      " + quoted(fmt::format("{}:{}", name, zsh_text(within.description)));
      dispatch += fmt::format("        {}) _adze_{} ;;\n", name, within.name("_"));
    }
    body += ")\n      _describe command commands ;;\n    argument) case $line[1] in\n";
    body += dispatch + "      esac ;;\n  esac";
    functions += fmt::format("_adze{}() {{\n{}\n}}\n", suffix, body);
  }
  return "#compdef adze\n# zsh completion for adze; write it to a file _adze in a folder of "
         "$fpath\n" +
         functions +
         "if [ \"$funcstack[1]\" = _adze ]; then _adze \"$@\"; else compdef _adze adze; fi\n";
}

std::string fish(const CommandText& program) {
  std::string out = "# fish completion for adze; load it with: adze completions fish | source\n";
  const auto line = [&](const std::string& condition, const std::string& rest) {
    out += fmt::format("complete -c adze -n {} {}\n", quoted(condition, "\\'"), rest);
  };
  for (const CommandText* command : flatten(program)) {
    std::string condition;
    for (const std::string& name : command->path) {
      condition += condition.empty() ? "" : "; and ";
      condition += "__fish_seen_subcommand_from " + name;
    }
    if (condition.empty()) condition = "__fish_use_subcommand";
    for (const CommandText& within : command->commands) {
      line(condition,
           fmt::format("-f -a {} -d {}", within.path.back(), quoted(within.description, "\\'")));
    }
    for (const OptionText& option : command->options) {
      std::string rest;
      for (const std::string& name : option.names) {
        if (option.positional) continue;
        rest += name.starts_with("--") ? "-l " + name.substr(2) : "-s " + name.substr(1);
        rest += ' ';
      }
      const std::string known = fmt::format("{}", fmt::join(values(option), " "));
      if (option.positional && known.empty()) continue;
      if (option.positional && !option.model) rest += "-f ";
      if (!option.value.empty()) rest += option.choices.empty() ? "-r -F " : "-x ";
      if (!known.empty()) rest += fmt::format("-a {} ", quoted(known, "\\'"));
      line(condition, rest + "-d " + quoted(option.description, "\\'"));
    }
  }
  return out;
}

}  // namespace

void register_completions(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completions", "Print what makes a shell complete adze's command lines");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  source <(adze completions bash)\n"
      "  adze completions zsh > ~/.zfunc/_adze\n"
      "  adze completions fish > ~/.config/fish/completions/adze.fish");
  command->callback([&app, shell] {
    const CommandText program = describe(app);
    write_stdout(*shell == "bash" ? bash(program) : *shell == "zsh" ? zsh(program) : fish(program));
  });
}

}  // namespace adze::cli
