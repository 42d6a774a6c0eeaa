#include "apps/cli/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "apps/cli/console.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

namespace adze::cli {
namespace {

uint64_t parameters(const ListedTensor& tensor) {
  uint64_t product = 1;
  for (const uint64_t size : tensor.shape) product *= size;
  return product;
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

  void add(const ListedTensor& tensor) {
    ++tensors;
    parameters += adze::cli::parameters(tensor);
    bytes += tensor.bytes;
  }
};

struct Totals {
  std::map<std::pair<int, std::string_view>, Total> by_type;
  Total all;
};

Totals totals(const std::vector<ListedTensor>& tensors) {
  Totals totals;
  for (const ListedTensor& tensor : tensors) {
    totals.by_type[{tensor.type_order, tensor.type}].add(tensor);
    totals.all.add(tensor);
  }
  return totals;
}

nlohmann::ordered_json total_json(const Total& total) {
  return {{"tensors", total.tensors}, {"parameters", total.parameters}, {"bytes", total.bytes}};
}

}  // namespace

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return digits;
}

void print_table(const std::vector<std::vector<std::string>>& rows, size_t right_from) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], count_characters(row[i]));
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

void print_tensors(const std::vector<ListedTensor>& tensors) {
  print("\nTensors ({})\n", tensors.size());
  std::vector<std::vector<std::string>> rows = {{"name", "type", "shape", "bytes"}};
  for (const ListedTensor& tensor : tensors) {
    rows.push_back({printable(tensor.name), std::string(tensor.type),
                    fmt::format("{}", fmt::join(tensor.shape, " × ")), grouped(tensor.bytes)});
  }
  print_table(rows, 3);
}

void print_totals(const std::vector<ListedTensor>& tensors) {
  const Totals sums = totals(tensors);
  std::vector<std::vector<std::string>> rows = {
      {"type", "tensors", "parameters", "bytes", "bits/parameter"}};
  const auto add = [&](std::string name, const Total& total) {
    const double bits = total.parameters == 0 ? 0.0
                                              : 8.0 * static_cast<double>(total.bytes) /
                                                    static_cast<double>(total.parameters);
    rows.push_back({std::move(name), grouped(total.tensors), grouped(total.parameters),
                    grouped(total.bytes), fmt::format("{:.2f}", bits)});
  };
  for (const auto& [type, total] : sums.by_type) add(std::string(type.second), total);
  add("total", sums.all);
  print("\nTypes\n");
  print_table(rows, 1);
  print("\nParameters: {} ({})\n", grouped(sums.all.parameters), rounded(sums.all.parameters));
}

void add_tensors_json(const std::vector<ListedTensor>& tensors, nlohmann::ordered_json& out) {
  out["tensors"] = nlohmann::ordered_json::array();
  for (const ListedTensor& tensor : tensors) {
    out["tensors"].push_back({{"name", tensor.name},
                              {"dtype", tensor.type},
                              {"shape", tensor.shape},
                              {"bytes", tensor.bytes},
                              {"offset", tensor.offset},
                              {"part", tensor.part + 1}});
  }
  const Totals sums = totals(tensors);
  for (const auto& [type, total] : sums.by_type) {
    out["dtypes"][std::string(type.second)] = total_json(total);
  }
  out["total"] = total_json(sums.all);
}

void print_json(const nlohmann::ordered_json& json) { print("{}\n", json_text(json, 2)); }

}  // namespace adze::cli
