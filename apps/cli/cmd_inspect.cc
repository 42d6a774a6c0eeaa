// `adze inspect`: what is in a model file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/inspect.h"
#include "apps/cli/listing.h"
#include "base/error.h"
#include "formats/engine_file/engine_file.h"
#include "formats/gguf/file.h"

namespace adze::cli {
namespace {

using gguf::NumberArray;
using gguf::TensorInfo;
using gguf::Value;
using gguf::ValueType;

constexpr size_t kFirstElements = 8;    // of an array, unless all are wanted
constexpr size_t kFirstTextBytes = 24;  // of a text in an array

std::vector<ListedTensor> list_tensors(const gguf::File& file) {
  std::vector<ListedTensor> tensors;
  for (const TensorInfo& tensor : file.tensors()) {
    tensors.push_back({tensor.name, dtype_info(tensor.dtype).name, static_cast<int>(tensor.dtype),
                       tensor.shape, tensor.bytes, tensor.offset, tensor.shard});
  }
  return tensors;
}

uint32_t parts(const gguf::File& file) {
  uint32_t last = 0;
  for (const TensorInfo& tensor : file.tensors()) last = std::max(last, tensor.shard);
  return last + 1;
}

size_t elements(const Value& value) {
  if (const auto* numbers = std::get_if<NumberArray>(&value.data)) return numbers->size();
  return std::get<StringTable>(value.data).size();
}

// --- JSON ---

// A value as JSON; of an array at most `limit` elements.
struct ToJson {
  size_t limit;

  nlohmann::json operator()(const NumberArray& numbers) const {
    nlohmann::json array = nlohmann::json::array();
    for (size_t i = 0; i < std::min(limit, numbers.size()); ++i) {
      array.push_back(std::visit([](auto number) { return nlohmann::json(number); }, numbers[i]));
    }
    return array;
  }
  nlohmann::json operator()(const StringTable& strings) const {
    nlohmann::json array = nlohmann::json::array();
    for (size_t i = 0; i < std::min(limit, strings.size()); ++i) array.push_back(strings[i]);
    return array;
  }
  template <class Scalar>
  nlohmann::json operator()(const Scalar& scalar) const {
    return scalar;
  }
};

nlohmann::ordered_json metadata_json(const std::string& key, const Value& value, bool all) {
  nlohmann::ordered_json entry;
  entry["key"] = key;
  entry["type"] = gguf::value_type_name(value.type);
  const size_t limit = all ? std::numeric_limits<size_t>::max() : kFirstElements;
  if (value.type == ValueType::kArray) {
    entry["element_type"] = gguf::value_type_name(value.element_type);
    entry["length"] = elements(value);
  }
  entry["value"] = std::visit(ToJson{limit}, value.data);
  return entry;
}

void show_json(const gguf::File& file, const InspectOptions& options) {
  nlohmann::ordered_json out;
  out["format"] = "gguf";
  out["version"] = file.version();
  out["alignment"] = file.alignment();
  out["parts"] = parts(file);
  out["metadata"] = nlohmann::ordered_json::array();
  for (const auto& [key, value] : file.metadata()) {
    out["metadata"].push_back(metadata_json(key, value, options.all));
  }
  add_tensors_json(list_tensors(file), out);
  print_json(out);
}

// --- Text ---

std::string number_text(const gguf::Number& number, ValueType type) {
  // A float32 in its own shortest digits, not in those of the double it is kept in.
  if (type == ValueType::kFloat32) {
    return fmt::format("{}", static_cast<float>(std::get<double>(number)));
  }
  return std::visit([](auto plain) { return fmt::format("{}", plain); }, number);
}

std::string value_text(const Value& value, bool all) {
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    return printable(*text, all ? text->size() * 4 : kFirstBytes);
  }
  if (value.type != ValueType::kArray) {
    return std::visit(
        [&](const auto& scalar) -> std::string {
          if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(scalar)>>) {
            return number_text(gguf::Number(scalar), value.type);
          } else {
            return {};
          }
        },
        value.data);
  }
  const size_t count = elements(value);
  const size_t shown = all ? count : std::min(count, kFirstElements);
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    if (const auto* strings = std::get_if<StringTable>(&value.data)) {
      const std::string_view element = (*strings)[i];
      text += fmt::format("\"{}\"", printable(element, all ? element.size() * 4 : kFirstTextBytes));
    } else {
      text += number_text(std::get<NumberArray>(value.data)[i], value.element_type);
    }
  }
  return shown < count ? text + ", …" : text;
}

std::string type_text(const Value& value) {
  if (value.type != ValueType::kArray) return std::string(gguf::value_type_name(value.type));
  return fmt::format("{}[{}]", gguf::value_type_name(value.element_type), elements(value));
}

void show_text(const gguf::File& file, const InspectOptions& options) {
  print("{}\n", file.name());
  const uint32_t count = parts(file);
  print("GGUF version {}, alignment {}{}\n", file.version(), file.alignment(),
        count == 1 ? "" : fmt::format(", {} parts", count));

  print("\nMetadata ({} entries)\n", file.metadata().size());
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : file.metadata()) {
    rows.push_back({printable(key), type_text(value), value_text(value, options.all)});
  }
  print_table(rows, 3);

  const std::vector<ListedTensor> tensors = list_tensors(file);
  if (options.tensors) print_tensors(tensors);
  print_totals(tensors);
}

void inspect(const InspectOptions& options) {
  std::error_code ignored;  // what cannot be looked at fails when it is opened
  if (std::filesystem::is_directory(options.path, ignored)) return inspect_folder(options);
  if (engine_file::is_engine_file(options.path)) return inspect_engine_file(options);
  const gguf::File file = gguf::File::open(options.path);
  options.json ? show_json(file, options) : show_text(file, options);
}

}  // namespace

void register_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show a model file's metadata, tensors and sizes");
  command
      ->add_option(
          "FILE", options->path,
          "A .gguf file (of a split model, its first part), a Hugging Face folder or an engine\n"
          "file")
      ->required()
      ->type_name("");
  command->add_flag("--tensors", options->tensors, "List every tensor (JSON always does)");
  command->add_flag("--all", options->all, "Whole arrays and texts, however long");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  adze inspect model.gguf\n"
      "  adze inspect model.gguf --tensors\n"
      "  adze inspect folder --tensors\n"
      "  adze inspect model-00001-of-00003.gguf --json | jq .total");
  command->callback([options] { inspect(*options); });
}

}  // namespace adze::cli
