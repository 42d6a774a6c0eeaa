// `adze inspect`: what is in a model file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

using gguf::NumberArray;
using gguf::TensorInfo;
using gguf::Value;
using gguf::ValueType;

struct Options {
  std::string path;
  bool tensors = false;
  bool all = false;
  bool json = false;
};

constexpr size_t kFirstElements = 8;    // of an array, unless all are wanted
constexpr size_t kFirstBytes = 64;      // of a text
constexpr size_t kFirstTextBytes = 24;  // of a text in an array

uint64_t parameters(const TensorInfo& tensor) { return tensor.rows() * tensor.columns(); }

// 134515008 → "134,515,008".
std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return digits;
}

// With the three leading digits: "134.5 M".
std::string rounded(uint64_t number) {
  constexpr std::pair<uint64_t, const char*> kUnits[] = {
      {1'000'000'000'000, "T"}, {1'000'000'000, "B"}, {1'000'000, "M"}, {1'000, "k"}};
  for (const auto& [unit, letter] : kUnits) {
    if (number >= unit) {
      return fmt::format("{:.1f} {}", static_cast<double>(number) / static_cast<double>(unit),
                         letter);
    }
  }
  return std::to_string(number);
}

struct Total {
  uint64_t tensors = 0;
  uint64_t parameters = 0;
  uint64_t bytes = 0;

  void add(const TensorInfo& tensor) {
    ++tensors;
    parameters += adze::cli::parameters(tensor);
    bytes += tensor.bytes;
  }
};

// Per type, in the order of DType, and for all.
struct Totals {
  std::map<DType, Total> by_type;
  Total all;
};
Totals totals(const gguf::File& file) {
  Totals totals;
  for (const TensorInfo& tensor : file.tensors()) {
    totals.by_type[tensor.dtype].add(tensor);
    totals.all.add(tensor);
  }
  return totals;
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

nlohmann::ordered_json total_json(const Total& total) {
  return {{"tensors", total.tensors}, {"parameters", total.parameters}, {"bytes", total.bytes}};
}

void print_json(const gguf::File& file, const Options& options) {
  nlohmann::ordered_json out;
  out["format"] = "gguf";
  out["version"] = file.version();
  out["alignment"] = file.alignment();
  out["parts"] = parts(file);
  out["metadata"] = nlohmann::ordered_json::array();
  for (const auto& [key, value] : file.metadata()) {
    out["metadata"].push_back(metadata_json(key, value, options.all));
  }
  out["tensors"] = nlohmann::ordered_json::array();
  for (const TensorInfo& tensor : file.tensors()) {
    out["tensors"].push_back({{"name", tensor.name},
                              {"dtype", dtype_info(tensor.dtype).name},
                              {"shape", tensor.shape},
                              {"bytes", tensor.bytes},
                              {"offset", tensor.offset},
                              {"part", tensor.shard + 1}});
  }
  const Totals sums = totals(file);
  for (const auto& [dtype, total] : sums.by_type) {
    out["dtypes"][std::string(dtype_info(dtype).name)] = total_json(total);
  }
  out["total"] = total_json(sums.all);
  // Bytes that are not UTF-8 (a file may hold any) are replaced.
  print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
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

std::string shape_text(const TensorInfo& tensor) {
  return fmt::format("{}", fmt::join(tensor.shape, " × "));
}

// Code points: as good as columns for keys and tensor names.
size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

// Prints rows with their columns aligned; columns from `right_from` on to the right.
void print_table(const std::vector<std::vector<std::string>>& rows, size_t right_from) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i >= right_from      ? fmt::format("  {:>{}}", row[i], widths[i])
              : i + 1 < row.size() ? fmt::format("  {:<{}}", row[i], widths[i])
                                   : "  " + row[i];
    }
    print("{}\n", line);
  }
}

void print_totals(const Totals& sums) {
  std::vector<std::vector<std::string>> rows = {
      {"type", "tensors", "parameters", "bytes", "bits/parameter"}};
  const auto add = [&](std::string name, const Total& total) {
    const double bits = total.parameters == 0 ? 0.0
                                              : 8.0 * static_cast<double>(total.bytes) /
                                                    static_cast<double>(total.parameters);
    rows.push_back({std::move(name), grouped(total.tensors), grouped(total.parameters),
                    grouped(total.bytes), fmt::format("{:.2f}", bits)});
  };
  for (const auto& [dtype, total] : sums.by_type) add(std::string(dtype_info(dtype).name), total);
  add("total", sums.all);
  print("\nTypes\n");
  print_table(rows, 1);
  print("\nParameters: {} ({})\n", grouped(sums.all.parameters), rounded(sums.all.parameters));
}

void print_text(const gguf::File& file, const Options& options) {
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

  if (options.tensors) {
    print("\nTensors ({})\n", file.tensors().size());
    rows = {{"name", "type", "shape", "bytes"}};
    for (const TensorInfo& tensor : file.tensors()) {
      rows.push_back({printable(tensor.name), std::string(dtype_info(tensor.dtype).name),
                      shape_text(tensor), grouped(tensor.bytes)});
    }
    print_table(rows, 3);
  }
  print_totals(totals(file));
}

void inspect(const Options& options) {
  const gguf::File file = gguf::File::open(options.path);
  if (options.json) {
    print_json(file, options);
  } else {
    print_text(file, options);
  }
}

}  // namespace

void register_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show a model file's metadata, tensors and sizes");
  command->add_option("FILE", options->path, "A .gguf file; of a split model, its first part")
      ->required()
      ->type_name("");
  command->add_flag("--tensors", options->tensors, "List every tensor (JSON always does)");
  command->add_flag("--all", options->all, "Whole arrays and texts, however long");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  adze inspect model.gguf\n"
      "  adze inspect model.gguf --tensors\n"
      "  adze inspect model-00001-of-00003.gguf --json | jq .total");
  command->callback([options] { inspect(*options); });
}

}  // namespace adze::cli
