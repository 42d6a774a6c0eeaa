// `adze inspect` for engine files: where they came from, configuration, packed weights.
#include "apps/cli/console.h"
#include "apps/cli/inspect.h"
#include "apps/cli/listing.h"
#include "base/error.h"
#include "formats/engine_file/engine_file.h"

namespace adze::cli {
namespace {

std::vector<std::vector<std::string>> rows_of(const nlohmann::json& object,
                                              const InspectOptions& options) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : object.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    rows.push_back({printable(key), printable(text, options.all ? text.size() * 4 : kFirstBytes)});
  }
  return rows;
}

}  // namespace

void inspect_engine_file(const InspectOptions& options) {
  const engine_file::File file(options.path);
  const nlohmann::json& model = file.model();
  const auto part = [&](const char* key) {
    const auto found = model.is_object() ? model.find(key) : model.end();
    if (!model.is_object() || found == model.end() || !found->is_object()) {
      throw_invalid("{}: no object '{}'", file.name(), key);
    }
    return *found;
  };
  const auto source = part("source");  // which says that the model is an object
  const auto found = model.find("packed_layout");
  const std::string layout =
      found != model.end() && found->is_string() ? found->get<std::string>() : "";
  if (options.json) {
    auto sections = nlohmann::ordered_json::array();
    for (const auto& [name, bytes] : file.sections()) {
      sections.push_back({{"name", name}, {"bytes", bytes.size()}});
    }
    print_json({{"format", "engine"},
                {"version", engine_file::kFormatVersion},
                {"bytes", file.size()},
                {"packed_layout", layout},
                {"source", source},
                {"config", part("config")},
                {"tokenizer", part("tokenizer")},
                {"weights", part("weights")},
                {"sections", std::move(sections)}});
    return;
  }
  print("{}\n", file.name());
  print("Engine file version {}, packed layout {}, {} bytes\n", engine_file::kFormatVersion,
        printable(layout), grouped(file.size()));
  print("\nMade from\n");
  print_table(rows_of(source, options), 2);
  print("\nConfiguration\n");
  print_table(rows_of(part("config"), options), 2);
  if (options.tensors) {
    print("\nSections\n");
    std::vector<std::vector<std::string>> rows = {{"name", "bytes"}};
    for (const auto& [name, bytes] : file.sections()) {
      rows.push_back({printable(name), grouped(bytes.size())});
    }
    print_table(rows, 1);
  }
  print("\n{} weights, {} sections\n", part("weights").size(), file.sections().size());
}

}  // namespace adze::cli
