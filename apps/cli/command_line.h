// The program's commands and options as data, read from the definitions that parse them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace adze::cli {

// The options that name a model: main() lets them take names, completions offer those.
inline constexpr const char* kModelOptions[] = {"--model", "FILE", "IN", "--draft-model"};

struct OptionText {
  std::vector<std::string> names;    // "-m", "--model"; of a positional, its name
  std::string description;           // one line
  std::string value;                 // what it takes: "TEXT"; empty for a flag
  std::string default_value;         // empty: none
  std::vector<std::string> choices;  // all values, where there are few
  bool positional = false;
  bool required = false;
  bool model = false;  // one of kModelOptions
};

struct CommandText {
  std::vector<std::string> path;  // "models", "fetch"; empty for the program itself
  std::string description;
  std::string footer;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;

  std::string name(const char* separator = " ") const;  // the path in one
};

// The program, and in it its commands. `app` is the program's own.
CommandText describe(const CLI::App& app);
// A command and all within it, each before its own commands.
std::vector<const CommandText*> flatten(const CommandText& command);

}  // namespace adze::cli
