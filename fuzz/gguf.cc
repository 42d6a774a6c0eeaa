// GGUF: header, metadata, tensor table, vocabulary. What is accepted can be read and written, and
// what was written is read as the same.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "checkpoint/gguf_vocabulary.h"
#include "formats/gguf/file.h"
#include "formats/gguf/writer.h"
#include "fuzz/properties.h"

using namespace adze;

namespace {

bool equal(const gguf::Value& a, const gguf::Value& b) {
  if (a.type != b.type || a.data.index() != b.data.index()) return false;
  if (a.type == gguf::ValueType::kArray && a.element_type != b.element_type) return false;
  if (const auto* numbers = std::get_if<gguf::NumberArray>(&a.data)) {
    return std::ranges::equal(numbers->bytes(), std::get<gguf::NumberArray>(b.data).bytes());
  }
  if (const auto* strings = std::get_if<StringTable>(&a.data)) {
    const auto& others = std::get<StringTable>(b.data);
    bool same = strings->size() == others.size();
    for (size_t i = 0; same && i < strings->size(); ++i) same = (*strings)[i] == others[i];
    return same;
  }
  if (const auto* real = std::get_if<double>(&a.data)) {
    const double other = std::get<double>(b.data);
    return *real == other || (std::isnan(*real) && std::isnan(other));
  }
  if (const auto* text = std::get_if<std::string>(&a.data))
    return *text == std::get<std::string>(b.data);
  if (const auto* truth = std::get_if<bool>(&a.data)) return *truth == std::get<bool>(b.data);
  if (const auto* number = std::get_if<int64_t>(&a.data))
    return *number == std::get<int64_t>(b.data);
  return std::get<uint64_t>(a.data) == std::get<uint64_t>(b.data);
}

std::vector<std::byte> content(const gguf::File& file, const gguf::TensorInfo& tensor) {
  std::vector<std::byte> bytes(tensor.bytes);
  file.read(tensor, 0, bytes);
  return bytes;
}

void ask_for_all_types(const gguf::File& file) {
  for (const auto& [key, value] : file.metadata()) {
    fuzz::require(file.find(key) != nullptr, "keys are found");
    fuzz::succeeds([&] { file.integer(key); });
    fuzz::succeeds([&] { file.real(key); });
    fuzz::succeeds([&] { file.boolean(key); });
    fuzz::succeeds([&] { file.text(key); });
    fuzz::succeeds([&] { file.strings(key); });
    fuzz::succeeds([&] { file.integers(key); });
    fuzz::succeeds([&] { file.reals(key); });
  }
}

void use_tokenizer(const gguf::File& file) {
  std::unique_ptr<const text::Tokenizer> tokenizer;
  if (!fuzz::succeeds([&] { tokenizer = checkpoint::open_tokenizer(file); })) return;
  const auto ids = tokenizer->encode("Hello world, <s> 12 \xff\xf0\x9f\x98\x80");
  for (const text::TokenId id : ids) {
    fuzz::require(tokenizer->vocabulary().contains(id), "ids of the vocabulary");
  }
  fuzz::require(fuzz::is_utf8(tokenizer->decode(ids)), "decoded text is UTF-8");
}

void write_and_read(const gguf::File& file) {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("adze_fuzz_gguf." + std::to_string(::getpid()));
  gguf::Writer writer(path);
  for (const auto& [key, value] : file.metadata()) writer.add_metadata(key, value);
  for (const auto& tensor : file.tensors()) {
    writer.add_tensor(tensor.name, tensor.dtype, tensor.shape);
  }
  for (const auto& tensor : file.tensors()) writer.write_blocks(content(file, tensor));
  writer.finish();
  const gguf::File again = gguf::File::open(path);
  std::filesystem::remove(path);
  fuzz::require(again.alignment() == file.alignment(), "alignment");
  fuzz::require(again.metadata().size() == file.metadata().size(), "as many keys");
  for (size_t i = 0; i < file.metadata().size(); ++i) {
    fuzz::require(again.metadata()[i].first == file.metadata()[i].first, "keys in order");
    fuzz::require(equal(again.metadata()[i].second, file.metadata()[i].second), "values");
  }
  fuzz::require(again.tensors().size() == file.tensors().size(), "as many tensors");
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const gguf::TensorInfo& before = file.tensors()[i];
    const gguf::TensorInfo& after = again.tensors()[i];
    fuzz::require(after.name == before.name && after.dtype == before.dtype, "names and types");
    fuzz::require(after.shape == before.shape, "shapes");
    fuzz::require(content(again, after) == content(file, before), "contents");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::optional<gguf::File> file;
  if (!fuzz::succeeds([&] { file = gguf::File::parse(memory_input("fuzzed.gguf", bytes)); })) {
    return 0;
  }
  for (const gguf::TensorInfo& tensor : file->tensors()) {
    fuzz::require(tensor.offset <= size && tensor.bytes <= size - tensor.offset,
                  "tensors lie within the file");
    fuzz::require(tensor.offset % file->alignment() == 0, "tensors are aligned");
    fuzz::require(
        std::ranges::equal(content(*file, tensor), bytes.subspan(tensor.offset, tensor.bytes)),
        "the tensor's bytes");
  }
  ask_for_all_types(*file);
  use_tokenizer(*file);
  // A part of a split model is no model by itself.
  const bool whole = std::ranges::none_of(
      file->metadata(), [](const auto& entry) { return entry.first.starts_with("split."); });
  if (whole) write_and_read(*file);
  return 0;
}
