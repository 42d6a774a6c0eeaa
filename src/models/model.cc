#include "models/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace adze::models {
namespace {

// Filled by static initializers, read-only once main has begun.
std::vector<Architecture>& registry() {
  static std::vector<Architecture> architectures;
  return architectures;
}

}  // namespace

RegisterArchitecture::RegisterArchitecture(const Architecture& architecture) {
  registry().push_back(architecture);
}

const Architecture& find_architecture(std::string_view name) {
  for (const Architecture& architecture : registry()) {
    if (architecture.name == name) return architecture;
  }
  throw_unsupported("architecture '{}' is not supported; supported: {}", printable(name),
                    fmt::join(architecture_names(), ", "));
}

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const Architecture& architecture : registry()) names.push_back(architecture.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace adze::models
