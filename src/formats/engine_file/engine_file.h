// Engine files: a model as the executor reads it, packed once and mapped by every process.
//
// Little-endian: 8 bytes "ADZEMOD\n"; u32 format version; u32 0; u64 bytes of the whole file; u64
// bytes of the table; 32 bytes SHA-256 of the table; zeros up to byte 128; the table, JSON; zeros
// up to a multiple of 4096; the sections. The table has "sections", [[name, offset, bytes], …] in
// order, offsets counted from where the sections begin and multiples of 64, and "model", which is
// for readers above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace adze::engine_file {

// Raised whenever what this comment or a reader above describes changes.
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kSectionAlignment = 64;

// Does a file begin as an engine file does? False for what cannot be opened. Throws where it cannot
// be read.
bool is_engine_file(const std::filesystem::path& path);

class File {
 public:
  // Throws Error{kInvalidInput} naming the file and what is wrong with it, and Error{kUnsupported}
  // for another version.
  explicit File(const std::filesystem::path& path);

  const std::string& name() const { return mapping_.name(); }
  uint64_t size() const { return mapping_.bytes().size(); }
  // The table's "model"; of any JSON type.
  const nlohmann::json& model() const { return (*table_)["model"]; }
  // Valid as long as the file; nothing where there is no such section.
  std::optional<std::span<const std::byte>> find(std::string_view section) const;
  // Throws Error{kInvalidInput} that names the section where there is none.
  std::span<const std::byte> require(std::string_view section) const;
  // By name.
  const std::map<std::string, std::span<const std::byte>, std::less<>>& sections() const {
    return sections_;
  }
  // Throws once a part could not be read any more.
  void check() const { mapping_.check(); }

 private:
  void read_sections(std::span<const std::byte> sections);

  MappedFile mapping_;
  JsonDocument table_;
  std::map<std::string, std::span<const std::byte>, std::less<>> sections_;
};

// A section to be written: its bytes stay where they are until it is.
struct Section {
  std::string name;
  std::span<const std::byte> bytes;
};

// Appears whole or not at all. `progress`: bytes written of all. Errors as of AtomicFileWriter.
void write(const std::filesystem::path& path, nlohmann::ordered_json model,
           std::span<const Section> sections,
           const std::function<void(size_t done, size_t total)>& progress = {});

}  // namespace adze::engine_file
