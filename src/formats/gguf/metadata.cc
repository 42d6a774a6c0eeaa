// Typed access to a file's metadata.
#include <fmt/core.h>

#include <limits>

#include "base/error.h"
#include "formats/gguf/file.h"

namespace adze::gguf {
namespace {

[[noreturn]] void wrong_type(const File& file, std::string_view key, const Value& value,
                             std::string_view wanted) {
  throw_invalid("{}: {}: is {}, not {}", file.name(), printable(key),
                value.type == ValueType::kArray
                    ? fmt::format("an array of {}", value_type_name(value.element_type))
                    : std::string(value_type_name(value.type)),
                wanted);
}

int64_t as_signed(const File& file, std::string_view key, uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    throw_invalid("{}: {}: {} is too large", file.name(), printable(key), value);
  }
  return static_cast<int64_t>(value);
}

}  // namespace

const Value* File::find(std::string_view key) const {
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

std::optional<int64_t> File::integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<uint64_t>(&value->data)) {
    return as_signed(*this, key, *number);
  }
  if (const auto* number = std::get_if<int64_t>(&value->data)) return *number;
  wrong_type(*this, key, *value, "an integer");
}

std::optional<double> File::real(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<double>(&value->data)) return *number;
  if (const auto* number = std::get_if<uint64_t>(&value->data)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<int64_t>(&value->data)) return static_cast<double>(*number);
  wrong_type(*this, key, *value, "a number");
}

std::optional<bool> File::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&value->data)) return *flag;
  wrong_type(*this, key, *value, "a bool");
}

std::optional<std::string_view> File::text(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* string = std::get_if<std::string>(&value->data)) return *string;
  wrong_type(*this, key, *value, "a string");
}

const StringTable* File::strings(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (const auto* array = std::get_if<StringTable>(&value->data)) return array;
  wrong_type(*this, key, *value, "an array of strings");
}

std::optional<std::vector<int64_t>> File::integers(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* array = std::get_if<NumberArray>(&value->data);
  if (array == nullptr) wrong_type(*this, key, *value, "an array of integers");
  std::vector<int64_t> out;
  out.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i) {
    const Number number = (*array)[i];
    if (const auto* positive = std::get_if<uint64_t>(&number)) {
      out.push_back(as_signed(*this, key, *positive));
    } else if (const auto* any = std::get_if<int64_t>(&number)) {
      out.push_back(*any);
    } else {
      wrong_type(*this, key, *value, "an array of integers");
    }
  }
  return out;
}

std::optional<std::vector<double>> File::reals(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* array = std::get_if<NumberArray>(&value->data);
  if (array == nullptr || array->type() == ValueType::kBool) {
    wrong_type(*this, key, *value, "an array of numbers");
  }
  std::vector<double> out;
  out.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i) {
    out.push_back(std::visit([](auto number) { return static_cast<double>(number); }, (*array)[i]));
  }
  return out;
}

void File::missing(std::string_view key) const {
  throw_invalid("{}: metadata {} is missing", name(), printable(key));
}

int64_t File::require_integer(std::string_view key) const {
  const std::optional<int64_t> value = integer(key);
  if (!value) missing(key);
  return *value;
}

double File::require_real(std::string_view key) const {
  const std::optional<double> value = real(key);
  if (!value) missing(key);
  return *value;
}

std::string_view File::require_text(std::string_view key) const {
  const std::optional<std::string_view> value = text(key);
  if (!value) missing(key);
  return *value;
}

}  // namespace adze::gguf
