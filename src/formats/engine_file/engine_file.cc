#include "formats/engine_file/engine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/sha256.h"

namespace adze::engine_file {
namespace {

static_assert(std::endian::native == std::endian::little, "engine files are read in place");

constexpr std::string_view kMagic = "ADZEMOD\n";
constexpr size_t kHeaderBytes = 128;
constexpr size_t kDigestBytes = 64;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxTableBytes = 64 << 20;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t file_bytes;
  uint64_t table_bytes;
  char digest[kDigestBytes];
};
static_assert(sizeof(Header) == 96);

std::string digest_of(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.update(bytes);
  return sha.hex_digest();
}

// Where the sections begin.
uint64_t sections_offset(uint64_t table_bytes) {
  return (CheckedSize(kHeaderBytes) + table_bytes).align_up(kPage).value();
}

}  // namespace

bool is_engine_file(const std::filesystem::path& path) {
  std::unique_ptr<RandomAccessInput> input;
  try {
    input = open_input(path);
  } catch (const Error&) {
    return false;  // opening it says what is wrong
  }
  std::array<std::byte, kMagic.size()> magic;
  if (input->size() < magic.size()) return false;
  input->read(0, magic);
  return std::memcmp(magic.data(), kMagic.data(), magic.size()) == 0;
}

File::File(const std::filesystem::path& path) : mapping_(path) {
  const std::span<const std::byte> bytes = mapping_.bytes();
  Header header;
  if (bytes.size() < kHeaderBytes) {
    throw_invalid("{}: {} bytes, an engine file has at least {}", name(), bytes.size(),
                  kHeaderBytes);
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kMagic) {
    throw_invalid("{}: not an engine file", name());
  }
  if (header.version != kFormatVersion) {
    throw_unsupported(
        "{}: an engine file of version {}; this program reads version {}: compile "
        "the model again",
        name(), header.version, kFormatVersion);
  }
  if (header.file_bytes != bytes.size()) {
    throw_invalid("{}: {} bytes, its header says {}", name(), bytes.size(), header.file_bytes);
  }
  if (header.zero != 0 || header.table_bytes > kMaxTableBytes ||
      sections_offset(header.table_bytes) > bytes.size()) {
    throw_invalid("{}: offset 24: a table of {} bytes does not fit", name(), header.table_bytes);
  }
  const auto table = bytes.subspan(kHeaderBytes, header.table_bytes);
  if (digest_of(table) != std::string_view(header.digest, kDigestBytes)) {
    throw_invalid("{}: offset {}: the table is damaged: its SHA-256 is another", name(),
                  kHeaderBytes);
  }
  table_ =
      parse_json({reinterpret_cast<const char*>(table.data()), table.size()}, name() + ": table");
  const nlohmann::json& root = *table_;
  if (!root.is_object() || !root.contains("model") || !root.contains("sections")) {
    throw_invalid("{}: table: not an object with model and sections", name());
  }
  read_sections(bytes.subspan(sections_offset(header.table_bytes)));
}

void File::read_sections(std::span<const std::byte> sections) {
  const nlohmann::json& list = (*table_)["sections"];
  if (!list.is_array()) throw_invalid("{}: table: sections: not an array", name());
  uint64_t end = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const nlohmann::json& entry = list[i];
    const bool well_formed = entry.is_array() && entry.size() == 3 && entry[0].is_string() &&
                             entry[1].is_number_unsigned() && entry[2].is_number_unsigned();
    if (!well_formed) {
      throw_invalid("{}: table: sections[{}]: not [name, offset, bytes]", name(), i);
    }
    const auto& section = entry[0].get_ref<const std::string&>();
    const auto offset = entry[1].get<uint64_t>();
    const auto bytes = entry[2].get<uint64_t>();
    if (offset % kSectionAlignment != 0 || offset < end || offset > sections.size() ||
        bytes > sections.size() - offset) {
      throw_invalid("{}: table: sections[{}]: {} bytes at {} do not fit", name(), i, bytes, offset);
    }
    end = offset + bytes;
    if (!sections_.emplace(section, sections.subspan(offset, bytes)).second) {
      throw_invalid("{}: table: sections[{}]: '{}' is there twice", name(), i, printable(section));
    }
  }
}

std::optional<std::span<const std::byte>> File::find(std::string_view section) const {
  const auto found = sections_.find(section);
  if (found == sections_.end()) return std::nullopt;
  return found->second;
}

std::span<const std::byte> File::require(std::string_view section) const {
  const auto found = find(section);
  if (!found) throw_invalid("{}: no section '{}'", name(), printable(section));
  return *found;
}

void write(const std::filesystem::path& path, nlohmann::ordered_json model,
           std::span<const Section> sections,
           const std::function<void(size_t done, size_t total)>& progress) {
  const auto aligned = [](uint64_t bytes) {
    return CheckedSize(bytes).align_up(kSectionAlignment).value();
  };
  auto list = nlohmann::ordered_json::array();
  uint64_t bytes = 0;
  for (const Section& section : sections) {
    list.push_back({section.name, bytes, section.bytes.size()});
    bytes += aligned(section.bytes.size());
  }
  const std::string table =
      nlohmann::ordered_json{{"model", std::move(model)}, {"sections", std::move(list)}}.dump();
  const uint64_t begin = sections_offset(table.size());
  Header header = {};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.version = kFormatVersion;
  header.file_bytes = begin + bytes;
  header.table_bytes = table.size();
  const std::string digest = digest_of(std::as_bytes(std::span(table)));
  std::memcpy(header.digest, digest.data(), kDigestBytes);

  AtomicFileWriter file(path);
  const auto pad_to = [&](uint64_t offset) {
    const std::vector<std::byte> zeros(offset - file.bytes_written());
    file.write(zeros);
  };
  file.write(std::as_bytes(std::span(&header, 1)));
  pad_to(kHeaderBytes);
  file.write(table);
  pad_to(begin);
  constexpr size_t kPiece = 8 << 20;
  for (const Section& section : sections) {
    for (size_t at = 0; at < section.bytes.size(); at += kPiece) {
      file.write(section.bytes.subspan(at, std::min(kPiece, section.bytes.size() - at)));
      if (progress) progress(file.bytes_written(), header.file_bytes);
    }
    pad_to(begin + aligned(file.bytes_written() - begin));
  }
  file.commit();
}

}  // namespace adze::engine_file
