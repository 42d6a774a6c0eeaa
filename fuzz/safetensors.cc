// safetensors: what is accepted is what another JSON reader finds in the header, and all of it can
// be read.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "formats/safetensors/file.h"
#include "fuzz/properties.h"

using namespace adze;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::optional<safetensors::File> file;
  const bool opened = fuzz::succeeds(
      [&] { file = safetensors::File::parse(memory_input("fuzzed.safetensors", bytes)); });
  if (!opened) return 0;

  uint64_t header = 0;
  fuzz::require(size >= sizeof header, "a file has its header's length");
  std::memcpy(&header, data, sizeof header);
  fuzz::require(header <= size - sizeof header, "the header lies within the file");
  const auto json = nlohmann::json::parse(fuzz::as_text(data + 8, header), nullptr, false);
  fuzz::require(json.is_object(), "the header is an object");
  const size_t tensors = json.size() - (json.contains("__metadata__") ? 1 : 0);
  fuzz::require(file->tensors().size() == tensors, "every tensor is there");
  uint64_t end = 8 + header;
  for (const safetensors::TensorInfo& tensor : file->tensors()) {
    const auto& entry = json.at(tensor.name);
    fuzz::require(entry.at("shape") == nlohmann::json(tensor.shape), "shapes");
    fuzz::require(entry.at("dtype") == nlohmann::json(tensor.type->name), "types");
    const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
    fuzz::require(tensor.offset == 8 + header + offsets.at(0), "offsets");
    fuzz::require(tensor.bytes == offsets.at(1) - offsets.at(0), "sizes");
    fuzz::require(tensor.bytes * 8 == tensor.elements() * tensor.type->bits, "sizes of elements");
    // Without gaps and overlaps, so that the tensors' bytes are the file's.
    fuzz::require(tensor.offset == end, "no gaps");
    end = tensor.offset + tensor.bytes;
    std::vector<std::byte> content(tensor.bytes);
    file->read(tensor, 0, content);
    fuzz::require(std::ranges::equal(content, bytes.subspan(tensor.offset, tensor.bytes)),
                  "the tensor's bytes");
  }
  fuzz::require(end == size, "the tensors fill the file");
  return 0;
}
