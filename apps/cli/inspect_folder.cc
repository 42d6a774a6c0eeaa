// `adze inspect` for Hugging Face folders: config.json and the tensors.
#include <filesystem>

#include "apps/cli/console.h"
#include "apps/cli/inspect.h"
#include "apps/cli/listing.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/safetensors/file.h"

namespace adze::cli {
namespace {

std::vector<ListedTensor> list_tensors(const safetensors::File& file) {
  std::vector<ListedTensor> tensors;
  for (const safetensors::TensorInfo& tensor : file.tensors()) {
    tensors.push_back({tensor.name, tensor.type->name, static_cast<int>(tensor.type->bits),
                       tensor.shape, tensor.bytes, tensor.offset, tensor.part});
  }
  return tensors;
}

}  // namespace

void inspect_folder(const InspectOptions& options) {
  const std::filesystem::path folder = options.path;
  const JsonDocument document = read_json_file(folder / "config.json");
  const nlohmann::json& config = *document;
  const safetensors::File file = safetensors::File::open_folder(folder);
  const std::vector<ListedTensor> tensors = list_tensors(file);
  if (options.json) {
    nlohmann::ordered_json out;
    out["format"] = "safetensors";
    out["parts"] = file.parts();
    out["config"] = config;
    add_tensors_json(tensors, out);
    print_json(out);
    return;
  }
  print("{}\n", printable(options.path, kMaxPathBytes));
  print("Hugging Face folder, weights in {} file{}\n", file.parts(), file.parts() == 1 ? "" : "s");
  print("\nConfiguration ({} entries)\n", config.size());
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : config.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    rows.push_back({printable(key), printable(text, options.all ? text.size() * 4 : kFirstBytes)});
  }
  print_table(rows, 2);
  if (options.tensors) print_tensors(tensors);
  print_totals(tensors);
}

}  // namespace adze::cli
