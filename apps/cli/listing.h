// Tables of a model's tensors, whatever the format of its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace adze::cli {

struct ListedTensor {
  std::string name;
  std::string_view type;        // of its elements; static
  int type_order = 0;           // types are listed by it
  std::vector<uint64_t> shape;  // outermost dimension first; none: a scalar
  uint64_t bytes = 0;
  uint64_t offset = 0;  // in its file
  size_t part = 0;      // which file of a model in several, from 0
};

// 134515008 → "134,515,008".
std::string grouped(uint64_t number);

// Prints rows with their columns aligned; columns from `right_from` on to the right.
void print_table(const std::vector<std::vector<std::string>>& rows, size_t right_from);

// Every tensor with type, shape and bytes.
void print_tensors(const std::vector<ListedTensor>& tensors);
// Tensors, parameters and bytes for each type and in all.
void print_totals(const std::vector<ListedTensor>& tensors);

// Sets "tensors", "dtypes" and "total".
void add_tensors_json(const std::vector<ListedTensor>& tensors, nlohmann::ordered_json& out);
// Bytes that are not UTF-8 (a file may hold any) are replaced.
void print_json(const nlohmann::ordered_json& json);

}  // namespace adze::cli
