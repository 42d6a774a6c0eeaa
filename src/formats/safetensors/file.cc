#include "formats/safetensors/file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "formats/safetensors/header.h"
#include "formats/safetensors/limits.h"

namespace adze::safetensors {
namespace {

uint64_t read_little_endian(const RandomAccessInput& input) {
  std::array<std::byte, 8> bytes{};
  input.read(0, bytes);
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

// An index must not reach outside its folder. (What a link in the folder points at is its owner's
// choice; open_input() refuses what is not a regular file.)
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

uint64_t TensorInfo::elements() const {
  uint64_t product = 1;
  for (const uint64_t size : shape) product *= size;
  return product;
}

File File::parse(std::unique_ptr<RandomAccessInput> input) {
  const std::string& name = input->name();
  constexpr uint64_t kLengthBytes = 8;
  if (input->size() < kLengthBytes) {
    throw_invalid("{}: {} bytes are no safetensors file", name, input->size());
  }
  const uint64_t length = read_little_endian(*input);
  const uint64_t rest = input->size() - kLengthBytes;
  if (length > kMaxHeaderBytes) {
    throw_invalid("{}: offset 0: a header of {} bytes; {} are allowed", name, length,
                  kMaxHeaderBytes);
  }
  if (length > rest) {
    throw_invalid("{}: offset 0: a header of {} bytes claimed, {} are left in the file", name,
                  length, rest);
  }
  std::string text(static_cast<size_t>(length), '\0');
  input->read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  Header header = parse_header(text, kLengthBytes, rest - length, name);

  File file;
  file.name_ = name;
  file.metadata_ = std::move(header.metadata);
  file.tensors_ = std::move(header.tensors);
  for (size_t i = 0; i < file.tensors_.size(); ++i) {
    file.tensors_[i].offset += kLengthBytes + length;
    file.index_.emplace(file.tensors_[i].name, i);
  }
  file.inputs_.push_back(std::move(input));
  return file;
}

File File::open_folder(const std::filesystem::path& folder) {
  const std::filesystem::path single = folder / "model.safetensors";
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  if (is_present(single)) return parse(open_input(single));
  if (is_present(index)) return open_index(index);
  throw_invalid("{}: the folder has neither model.safetensors nor model.safetensors.index.json",
                printable(folder.string(), kMaxPathBytes));
}

File File::open_index(const std::filesystem::path& path) {
  const JsonDocument document = read_json_file(path, kMaxIndexBytes);
  const nlohmann::json& json = *document;
  File file;
  file.name_ = printable(path.string(), kMaxPathBytes);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) {
    throw_invalid("{}: weight_map is not an object", file.name_);
  }
  std::map<std::string, uint32_t> part_of;  // by the name of a part
  for (const auto& [tensor, part] : map->items()) {
    if (!part.is_string() || !is_plain_name(part.get_ref<const std::string&>())) {
      throw_invalid("{}: weight_map: {}: not the name of a file in this folder", file.name_,
                    printable(tensor));
    }
    part_of.emplace(part.get<std::string>(), 0);
  }
  if (part_of.size() > kMaxParts) {
    throw_invalid("{}: weight_map: {} files; {} are allowed", file.name_, part_of.size(),
                  kMaxParts);
  }
  for (auto& [name, part] : part_of) {
    part = static_cast<uint32_t>(file.inputs_.size());
    file.add(parse(open_input(path.parent_path() / name)));
  }
  for (const auto& [tensor, part] : map->items()) {
    const TensorInfo* info = file.find_tensor(tensor);
    if (info == nullptr || info->part != part_of.at(part.get<std::string>())) {
      throw_invalid("{}: weight_map: {}: no such tensor in {}", file.name_, printable(tensor),
                    printable(part.get<std::string>(), kMaxPathBytes));
    }
  }
  for (const TensorInfo& info : file.tensors_) {
    if (!map->contains(info.name)) {
      throw_invalid("{}: tensor {} is not in {}", file.file_name(info), printable(info.name),
                    file.name_);
    }
  }
  return file;
}

void File::add(File part) {
  const auto number = static_cast<uint32_t>(inputs_.size());
  if (inputs_.empty()) metadata_ = std::move(part.metadata_);
  for (TensorInfo& info : part.tensors_) {
    if (!index_.emplace(info.name, tensors_.size()).second) {
      throw_invalid("{}: tensor {} is in an earlier file too", part.name_, printable(info.name));
    }
    info.part = number;
    tensors_.push_back(std::move(info));
  }
  inputs_.push_back(std::move(part.inputs_.front()));
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const TensorInfo& File::require_tensor(std::string_view tensor) const {
  const TensorInfo* info = find_tensor(tensor);
  if (info == nullptr) throw_invalid("{}: tensor {} is missing", name_, printable(tensor));
  return *info;
}

void File::read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    throw_internal("{}: tensor {}: read past its end", file_name(tensor), printable(tensor.name));
  }
  inputs_[tensor.part]->read(tensor.offset + offset, out);
}

}  // namespace adze::safetensors
