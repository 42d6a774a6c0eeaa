#include "graph/explain/texts.h"

#include <fmt/core.h>

#include "base/error.h"

namespace adze::graph {

std::string attribute_text(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&attribute)) return fmt::format("{:g}", *real);
  return std::get<AttributeText>(attribute).text;
}

std::string type_text(const Value& value) {
  if (value.type == ElementType::kState) return std::string(element_type_name(value.type));
  const std::string group =
      value.quantization_group > 0
          ? fmt::format("{}/{}", value.quantization_bits, value.quantization_group)
          : "";
  return fmt::format("{}{}{}", element_type_name(value.type), group, to_string(value.shape));
}

std::string size_text(size_t bytes) {
  constexpr double kMebi = 1 << 20;
  return static_cast<double>(bytes) >= 0.01 * kMebi
             ? fmt::format("{:.2f} MiB", static_cast<double>(bytes) / kMebi)
             : fmt::format("{} bytes", bytes);
}

int total(const OperatorCounts& counts) {
  int sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

std::string drawable(std::string_view text) {
  constexpr size_t kMaxBytes = 160;
  std::string out = printable(text, kMaxBytes);
  // U+FFFE and U+FFFF are no characters to XML.
  for (const std::string_view other : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at = out.find(other); at != std::string::npos; at = out.find(other)) {
      out.replace(at, other.size(), "\xef\xbf\xbd");
    }
  }
  return out;
}

std::string dtype_name(const Weight& weight, const WeightSource& source) {
  return std::string(dtype_info(weight->info(source).dtype).name);
}

}  // namespace adze::graph
