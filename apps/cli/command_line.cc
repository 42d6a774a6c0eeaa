#include "apps/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace adze::cli {
namespace {

// CLI11 shows a choice as TYPE:{first,second}.
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  text.positional = text.names.empty();
  if (text.positional) text.names.push_back(option.get_single_name());
  text.description = option.get_description();
  std::replace(text.description.begin(), text.description.end(), '\n', ' ');
  const std::string type = option.get_type_name();
  text.choices = choices_of(type);
  if (option.get_items_expected_max() > 0 && !text.positional) {
    text.value = type.substr(0, type.find(':'));
    text.default_value = option.get_default_str();
  }
  text.required = option.get_required();
  text.model = std::any_of(std::begin(kModelOptions), std::end(kModelOptions),
                           [&](const char* name) { return option.check_name(name); });
  return text;
}

CommandText describe_command(const CLI::App& app, std::vector<std::string> path) {
  CommandText text;
  text.description = app.get_description();
  text.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    text.options.push_back(describe_option(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    path.push_back(command->get_name());
    text.commands.push_back(describe_command(*command, path));
    path.pop_back();
  }
  text.path = std::move(path);
  return text;
}

}  // namespace

std::string CommandText::name(const char* separator) const {
  return fmt::format("{}", fmt::join(path, separator));
}

CommandText describe(const CLI::App& app) { return describe_command(app, {}); }

std::vector<const CommandText*> flatten(const CommandText& command) {
  std::vector<const CommandText*> all = {&command};
  for (const CommandText& within : command.commands) {
    const std::vector<const CommandText*> more = flatten(within);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace adze::cli
