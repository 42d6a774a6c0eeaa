// `adze inspect`: what is in a model file.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "base/error.h"
#include "formats/gguf/file.h"

namespace adze::cli {
namespace {

void inspect(const std::string& path) {
  const gguf::File file = gguf::File::open(path);
  print("{}: GGUF version {}\n", printable(path), file.version());
}

}  // namespace

void register_inspect(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("inspect", "Show metadata, tensors, types and sizes");
  command->add_option("FILE", *path, "A .gguf file; of a split model, its first part")->required();
  command->callback([path] { inspect(*path); });
}

}  // namespace adze::cli
