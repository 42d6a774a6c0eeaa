// `adze tokenize`: text to tokens and back.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/model_options.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"

namespace adze::cli {
namespace {

struct Options {
  std::string model;
  bool ids = false;
  bool no_special = false;
  bool decode = false;
};

void tokenize(const Options& options) {
  const auto tokenizer = checkpoint::open_tokenizer(options.model);
  const std::string input = read_stdin(text::kMaxTextBytes);
  if (options.decode) {
    write_stdout(
        tokenizer->decode_bytes(parse_token_ids(input, "standard input"), options.no_special));
    return;
  }
  const bool special = !options.no_special;
  const auto ids = tokenizer->encode(input, {.add_special = special, .parse_special = special});
  if (!options.ids) {
    for (const text::TokenId id : ids) {
      print("{:>7}  {}\n", id,
            printable(tokenizer->token_bytes(id), std::numeric_limits<size_t>::max()));
    }
    return;
  }
  std::string line;
  for (const text::TokenId id : ids) {
    if (!line.empty()) line += ' ';
    line += std::to_string(id);
  }
  write_stdout(line += '\n');
}

}  // namespace

void register_tokenize(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("tokenize", "Turn the text on standard input into tokens, or back");
  command
      ->add_option("-m,--model", options->model,
                   "A .gguf file (a vocabulary is enough), a tokenizer.json or a folder with one")
      ->required();
  CLI::Option* ids = command->add_flag("--ids", options->ids,
                                       "One line of ids instead of a table of ids and their bytes");
  command->add_flag("--no-special", options->no_special,
                    "Add no begin and end tokens and take the spelling of control tokens as text; "
                    "with --decode leave control tokens out");
  command
      ->add_flag("--decode", options->decode,
                 "Read ids separated by blanks and write the bytes they stand for")
      ->excludes(ids);
  command->footer(
      "Examples:\n"
      "  echo -n 'Hello, world' | adze tokenize -m model.gguf\n"
      "  adze tokenize -m model.gguf --ids < book.txt | adze tokenize -m model.gguf --decode");
  command->callback([options] { tokenize(*options); });
}

}  // namespace adze::cli
