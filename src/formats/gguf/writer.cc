#include "formats/gguf/writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "formats/gguf/limits.h"
#include "formats/gguf/types.h"

namespace adze::gguf {
namespace {

constexpr uint32_t kVersion = 3;
constexpr size_t kEncodeElements = 64 << 10;  // floats encoded at a time

template <class T>
void append(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_text(std::string& out, std::string_view text) {
  append<uint64_t>(out, text.size());
  out.append(text);
}

// The bytes of a value after its type.
struct AppendValue {
  std::string& out;
  ValueType type;

  void operator()(const std::string& text) const { append_text(out, text); }
  void operator()(const StringTable& strings) const {
    append(out, ValueType::kString);
    append<uint64_t>(out, strings.size());
    for (size_t i = 0; i < strings.size(); ++i) append_text(out, strings[i]);
  }
  void operator()(const NumberArray& numbers) const {
    append(out, numbers.type());
    append<uint64_t>(out, numbers.size());
    const auto bytes = numbers.bytes();
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  template <class Scalar>
  void operator()(Scalar number) const {
    std::array<std::byte, 8> bytes{};
    encode_number(type, Number(number), bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), value_type_bytes(type));
  }
};

}  // namespace

Writer::Writer(std::filesystem::path path)
    : path_(std::move(path)), name_(printable(path_.string(), kMaxPathBytes)), file_(path_) {}

void Writer::add_metadata(const std::string& key, const Value& value) {
  if (header_written_) throw_internal("{}: {}: metadata after data", name_, printable(key));
  if (key.size() > kMaxPathBytes) {
    throw_invalid("{}: metadata key of {} bytes, more than {}", name_, key.size(), kMaxPathBytes);
  }
  if (keys_.size() == kMaxMetadata) {
    throw_invalid("{}: more than {} metadata entries", name_, kMaxMetadata);
  }
  if (key == "general.alignment") {
    const auto* alignment = std::get_if<uint64_t>(&value.data);
    if (value.type != ValueType::kUint32 || !valid_alignment(*alignment)) {
      throw_invalid("{}: general.alignment: not a u32 that is a power of two up to {}", name_,
                    kMaxAlignment);
    }
    alignment_ = *alignment;
  }
  if (!keys_.insert(key).second) {
    throw_invalid("{}: metadata key '{}' is added twice", name_, printable(key));
  }
  append_text(metadata_, key);
  append(metadata_, value.type);
  std::visit(AppendValue{metadata_, value.type}, value.data);
}

void Writer::add_tensor(const std::string& name, DType dtype, std::span<const uint64_t> shape) {
  const std::string shown = printable(name);
  if (header_written_) throw_internal("{}: tensor {}: declared after data", name_, shown);
  if (name.size() > kMaxPathBytes) {
    throw_invalid("{}: tensor name of {} bytes, more than {}", name_, name.size(), kMaxPathBytes);
  }
  if (tensors_.size() == kMaxTensors) throw_invalid("{}: more than {} tensors", name_, kMaxTensors);
  if (shape.empty() || shape.size() > kMaxDimensions) {
    throw_invalid("{}: tensor {}: {} dimensions; 1 to {} are allowed", name_, shown, shape.size(),
                  kMaxDimensions);
  }
  const DTypeInfo& type = dtype_info(dtype);
  CheckedSize elements(1);
  for (const uint64_t size : shape) {
    if (size == 0) throw_invalid("{}: tensor {}: a dimension is 0", name_, shown);
    // Eight bytes an element at most.
    if (size > INT64_MAX / 8 / elements.value()) {
      throw_invalid("{}: tensor {}: the number of elements overflows", name_, shown);
    }
    elements = elements * size;
  }
  if (shape.back() % type.block_elements != 0) {
    throw_invalid("{}: tensor {}: rows of {} are not whole blocks of {}", name_, shown,
                  shape.back(), type.name);
  }
  if (!tensor_names_.insert(name).second) {
    throw_invalid("{}: tensor {} is declared twice", name_, shown);
  }
  const CheckedSize blocks(elements.value() / type.block_elements);
  Tensor tensor{name, dtype, (blocks * type.block_bytes).value(), 0, {}};
  append_text(tensor.entry, name);
  append(tensor.entry, static_cast<uint32_t>(shape.size()));
  for (size_t i = shape.size(); i-- > 0;) append(tensor.entry, shape[i]);
  append(tensor.entry, code_from_dtype(dtype));
  tensors_.push_back(std::move(tensor));
}

void Writer::write_header() {
  std::string header = "GGUF";
  append(header, kVersion);
  append<uint64_t>(header, tensors_.size());
  append<uint64_t>(header, keys_.size());
  header += metadata_;
  // The alignment may have been set after a tensor was declared: offsets are known only now.
  CheckedSize offset(0);
  for (Tensor& tensor : tensors_) {
    tensor.offset = offset.value();
    offset = (offset + tensor.bytes).align_up(alignment_);
    header += tensor.entry;
    append(header, tensor.offset);
  }
  header.resize(CheckedSize(header.size()).align_up(alignment_).as<size_t>(), '\0');
  file_.write(header);
  data_start_ = header.size();
  header_written_ = true;
}

void Writer::pad(uint64_t data_offset) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  const uint64_t end = data_start_ + data_offset;
  while (file_.bytes_written() < end) {
    const uint64_t count = std::min<uint64_t>(kZeros.size(), end - file_.bytes_written());
    file_.write(std::span(kZeros).first(static_cast<size_t>(count)));
  }
}

const Writer::Tensor& Writer::current() {
  if (!header_written_) write_header();
  if (current_ == tensors_.size()) throw_internal("{}: data after the last tensor", name_);
  return tensors_[current_];
}

void Writer::write_blocks(std::span<const std::byte> blocks) {
  if (blocks.empty()) return;
  const Tensor& tensor = current();
  if (blocks.size() > tensor.bytes - written_) {
    throw_internal("{}: tensor {}: {} bytes of data past its end", name_, printable(tensor.name),
                   blocks.size() - (tensor.bytes - written_));
  }
  if (written_ == 0) pad(tensor.offset);
  file_.write(blocks);
  written_ += blocks.size();
  if (written_ == tensor.bytes) {
    ++current_;
    written_ = 0;
  }
}

void Writer::write_floats(std::span<const float> values) {
  if (values.empty()) return;
  const DType dtype = current().dtype;
  const DTypeInfo& type = dtype_info(dtype);
  if (values.size() % type.block_elements != 0) {
    throw_internal("{}: tensor {}: {} values are not whole blocks of {}", name_,
                   printable(current().name), values.size(), type.name);
  }
  for (size_t i = 0; i < values.size() && type.block_elements > 1; ++i) {
    if (!std::isfinite(values[i])) {
      throw_invalid("{}: tensor {}: {} among the values; {} holds finite ones only", name_,
                    printable(current().name), values[i], type.name);
    }
  }
  std::vector<std::byte> blocks;
  while (!values.empty()) {
    const auto piece = values.first(std::min(values.size(), kEncodeElements));
    blocks.resize(piece.size() / type.block_elements * type.block_bytes);
    encode(dtype, piece, blocks);
    write_blocks(blocks);
    values = values.subspan(piece.size());
  }
}

void Writer::finish() {
  if (!header_written_) write_header();
  if (current_ != tensors_.size()) {
    throw_internal("{}: tensor {}: {} of {} bytes written", name_,
                   printable(tensors_[current_].name), written_, tensors_[current_].bytes);
  }
  // Some readers expect the last tensor to be padded like the others.
  if (!tensors_.empty()) {
    const Tensor& last = tensors_.back();
    pad(CheckedSize(last.offset + last.bytes).align_up(alignment_).value());
  }
  file_.commit();
}

}  // namespace adze::gguf
