#include "formats/gguf/file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "formats/gguf/limits.h"
#include "formats/gguf/types.h"

namespace adze::gguf {
namespace {

constexpr uint64_t kReadAhead = 256 << 10;

// Sequential reads of the header through a window.
class Cursor {
 public:
  explicit Cursor(const RandomAccessInput& input)
      : input_(input), window_(static_cast<size_t>(std::min(kReadAhead, input.size()))) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return input_.size() - position_; }

  template <class T>
  T number(const char* what) {
    T value;
    bytes(std::as_writable_bytes(std::span(&value, 1)), what);
    return value;
  }

  const std::string& name() const { return input_.name(); }

  // The length before a text's bytes, checked.
  size_t text_length(uint64_t limit, const char* what) {
    const auto length = number<uint64_t>(what);
    if (length > remaining()) {
      fail(what, fmt::format("{} bytes claimed, {} are left in the file", length, remaining()));
    }
    if (length > limit) fail(what, fmt::format("{} bytes, more than {}", length, limit));
    return static_cast<size_t>(length);
  }

  std::string text(uint64_t limit, const char* what) {
    std::string value(text_length(limit, what), '\0');
    bytes(std::as_writable_bytes(std::span(value)), what);
    return value;
  }

  void bytes(std::span<std::byte> out, const char* what) {
    if (out.size() > remaining()) {
      fail(what, fmt::format("{} bytes needed, {} are left in the file", out.size(), remaining()));
    }
    while (!out.empty()) {
      if (position_ < window_start_ || position_ >= window_start_ + window_size_) {
        window_start_ = position_;
        window_size_ = static_cast<size_t>(std::min(kReadAhead, remaining()));
        input_.read(window_start_, std::span(window_).first(window_size_));
      }
      const auto skip = static_cast<size_t>(position_ - window_start_);
      const size_t count = std::min(out.size(), window_size_ - skip);
      std::memcpy(out.data(), window_.data() + skip, count);
      out = out.subspan(count);
      position_ += count;
    }
  }

  [[noreturn]] void fail(std::string_view what, std::string_view reason) const {
    throw_invalid("{}: offset {}: {}: {}", input_.name(), position_, what, reason);
  }

 private:
  const RandomAccessInput& input_;
  uint64_t position_ = 0;
  std::vector<std::byte> window_;
  uint64_t window_start_ = 0;
  size_t window_size_ = 0;
};

ValueType read_type(Cursor& cursor) {
  const auto code = cursor.number<uint32_t>("metadata type");
  if (code > static_cast<uint32_t>(ValueType::kFloat64)) {
    cursor.fail("metadata type", fmt::format("unknown type {}", code));
  }
  return static_cast<ValueType>(code);
}

void check_bools(const Cursor& cursor, const std::string& key, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    if (value > 1) cursor.fail(key, fmt::format("{} is not a bool", value));
  }
}

// Refuses a value before there is memory for it; a damaged count is not above all that a large file
// holds.
void limit_metadata(const Cursor& cursor, const std::string& key, uint64_t bytes) {
  if (cursor.position() + bytes > kMaxMetadataBytes) {
    cursor.fail(key, fmt::format("{} bytes; metadata may take {}", bytes, kMaxMetadataBytes));
  }
}

Value read_array(Cursor& cursor, const std::string& key) {
  const ValueType type = read_type(cursor);
  if (type == ValueType::kArray) {
    throw_unsupported("{}: offset {}: {}: arrays of arrays are not supported", cursor.name(),
                      cursor.position(), key);
  }
  const auto count = cursor.number<uint64_t>("array length");
  // A string takes at least its length field.
  const uint64_t element_bytes = type == ValueType::kString ? 8 : value_type_bytes(type);
  if (count > cursor.remaining() / element_bytes) {
    cursor.fail(key, fmt::format("{} elements claimed, {} bytes are left in the file", count,
                                 cursor.remaining()));
  }
  limit_metadata(cursor, key, count * element_bytes);
  if (type == ValueType::kString) {
    StringTable strings;
    strings.reserve(static_cast<size_t>(count), 0);
    for (uint64_t i = 0; i < count; ++i) {
      const size_t length = cursor.text_length(cursor.remaining(), "string");
      limit_metadata(cursor, key, length);
      cursor.bytes(std::as_writable_bytes(strings.add_blank(length)), "string");
    }
    strings.shrink();
    return value_of(std::move(strings));
  }
  NumberArray numbers(type, static_cast<size_t>(count));
  cursor.bytes(numbers.bytes(), "array");
  if (type == ValueType::kBool) check_bools(cursor, key, numbers.bytes());
  return value_of(std::move(numbers));
}

Value read_value(Cursor& cursor, const std::string& key) {
  const ValueType type = read_type(cursor);
  if (type == ValueType::kArray) return read_array(cursor, key);
  if (type == ValueType::kString) {
    const uint64_t used = std::min(cursor.position(), kMaxMetadataBytes);
    return value_of(cursor.text(kMaxMetadataBytes - used, "string"));
  }
  std::array<std::byte, 8> storage{};
  const auto bytes = std::span(storage).first(value_type_bytes(type));
  cursor.bytes(bytes, "value");
  if (type == ValueType::kBool) check_bools(cursor, key, bytes);
  Value value{type, {}, ValueType::kUint32};
  std::visit([&](auto number) { value.data = number; }, decode_number(type, bytes.data()));
  return value;
}

}  // namespace

uint64_t TensorInfo::rows() const {
  uint64_t product = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) product *= shape[i];
  return product;
}

// Reads one file's header.
class Parser {
 public:
  explicit Parser(std::unique_ptr<RandomAccessInput> input)
      : input_(std::move(input)), cursor_(*input_) {}

  File parse() {
    read_header();
    for (uint64_t i = 0; i < metadata_count_; ++i) {
      std::string key = cursor_.text(kMaxNameBytes, "metadata key");
      Value value = read_value(cursor_, printable(key));
      if (!file_.metadata_index_.emplace(key, file_.metadata_.size()).second) {
        cursor_.fail("metadata key", fmt::format("'{}' appears twice", printable(key)));
      }
      file_.metadata_.emplace_back(std::move(key), std::move(value));
    }
    file_.inputs_.push_back(input_);
    read_alignment();
    for (uint64_t i = 0; i < tensor_count_; ++i) read_tensor();
    place_tensors();
    return std::move(file_);
  }

 private:
  void read_header() {
    std::array<char, 4> magic{};
    cursor_.bytes(std::as_writable_bytes(std::span(magic)), "magic");
    if (std::string_view(magic.data(), 4) != "GGUF") {
      throw_invalid("{}: not a GGUF file (it starts with '{}')", input_->name(),
                    printable({magic.data(), 4}));
    }
    file_.version_ = cursor_.number<uint32_t>("version");
    if (file_.version_ == 0x02000000 || file_.version_ == 0x03000000) {
      throw_unsupported("{}: big-endian GGUF is not supported", input_->name());
    }
    if (file_.version_ != 2 && file_.version_ != 3) {
      throw_unsupported("{}: GGUF version {} is not supported; 2 and 3 are", input_->name(),
                        file_.version_);
    }
    tensor_count_ = cursor_.number<uint64_t>("tensor count");
    metadata_count_ = cursor_.number<uint64_t>("metadata count");
    // The least bytes of a tensor's entry and of a metadata entry.
    constexpr uint64_t kTensorEntry = 8 + 1 + 4 + 8 + 4 + 8;
    constexpr uint64_t kMetadataEntry = 8 + 4 + 1;
    if (tensor_count_ > kMaxTensors || tensor_count_ > cursor_.remaining() / kTensorEntry) {
      cursor_.fail("tensor count", fmt::format("{} are more than {} or than fit in the file",
                                               tensor_count_, kMaxTensors));
    }
    if (metadata_count_ > kMaxMetadata || metadata_count_ > cursor_.remaining() / kMetadataEntry) {
      cursor_.fail("metadata count", fmt::format("{} are more than {} or than fit in the file",
                                                 metadata_count_, kMaxMetadata));
    }
  }

  void read_alignment() {
    const std::optional<int64_t> alignment = file_.integer("general.alignment");
    if (!alignment) return;
    // A negative one is far above the limit.
    const auto value = static_cast<uint64_t>(*alignment);
    if (!valid_alignment(value)) {
      throw_invalid("{}: general.alignment: {} is not a power of two up to {}", input_->name(),
                    *alignment, kMaxAlignment);
    }
    file_.alignment_ = value;
  }

  void read_tensor() {
    TensorInfo info;
    info.name = cursor_.text(kMaxNameBytes, "tensor name");
    const std::string shown = printable(info.name);
    const auto dimensions = cursor_.number<uint32_t>("dimension count");
    if (dimensions < 1 || dimensions > kMaxDimensions) {
      cursor_.fail(shown,
                   fmt::format("{} dimensions; 1 to {} are allowed", dimensions, kMaxDimensions));
    }
    CheckedSize elements(1);
    for (uint32_t i = 0; i < dimensions; ++i) {
      const auto size = cursor_.number<uint64_t>("dimension");
      if (size == 0) cursor_.fail(shown, "a dimension is 0");
      uint64_t product = 0;
      if (__builtin_mul_overflow(elements.value(), size, &product) || product > INT64_MAX) {
        cursor_.fail(shown, "the number of elements overflows");
      }
      elements = CheckedSize(product);
      info.shape.insert(info.shape.begin(), size);
    }
    const auto code = cursor_.number<uint32_t>("tensor type");
    const std::optional<DType> dtype = dtype_from_code(code);
    if (!dtype) {
      throw_unsupported("{}: tensor {}: type {} is not supported", input_->name(), shown, code);
    }
    info.dtype = *dtype;
    const DTypeInfo& type = dtype_info(*dtype);
    if (info.columns() % type.block_elements != 0) {
      cursor_.fail(shown,
                   fmt::format("rows of {} are not whole blocks of {}", info.columns(), type.name));
    }
    info.offset = cursor_.number<uint64_t>("tensor offset");
    const uint64_t blocks = elements.value() / type.block_elements;
    if (blocks > input_->size() / type.block_bytes) {
      cursor_.fail(shown,
                   fmt::format("{} blocks of {} are more than the file holds", blocks, type.name));
    }
    info.bytes = blocks * type.block_bytes;
    if (!file_.tensor_index_.emplace(info.name, file_.tensors_.size()).second) {
      cursor_.fail("tensor name", fmt::format("'{}' appears twice", shown));
    }
    file_.tensors_.push_back(std::move(info));
  }

  // Turns offsets into the data section into offsets into the file.
  void place_tensors() {
    const uint64_t data = CheckedSize(cursor_.position()).align_up(file_.alignment_).value();
    std::vector<const TensorInfo*> by_offset;
    for (TensorInfo& info : file_.tensors_) {
      const std::string shown = printable(info.name);
      if (info.offset % file_.alignment_ != 0) {
        throw_invalid("{}: tensor {}: offset {} is not a multiple of the alignment {}",
                      input_->name(), shown, info.offset, file_.alignment_);
      }
      uint64_t start = 0;
      if (__builtin_add_overflow(data, info.offset, &start) || start > input_->size() ||
          info.bytes > input_->size() - start) {
        throw_invalid("{}: tensor {}: {} bytes at offset {} of the data are past the file's end",
                      input_->name(), shown, info.bytes, info.offset);
      }
      info.offset = start;
      by_offset.push_back(&info);
    }
    std::sort(by_offset.begin(), by_offset.end(),
              [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < by_offset.size(); ++i) {
      const TensorInfo& previous = *by_offset[i - 1];
      if (previous.offset + previous.bytes > by_offset[i]->offset) {
        throw_invalid("{}: tensors {} and {} overlap", input_->name(), printable(previous.name),
                      printable(by_offset[i]->name));
      }
    }
  }

  std::shared_ptr<const RandomAccessInput> input_;
  Cursor cursor_;
  File file_;
  uint64_t tensor_count_ = 0;
  uint64_t metadata_count_ = 0;
};

File File::parse(std::unique_ptr<RandomAccessInput> input) {
  return Parser(std::move(input)).parse();
}

File File::open(const std::filesystem::path& path) {
  File file = parse(open_input(path));
  const int64_t count = file.integer("split.count").value_or(1);
  if (count == 0 || count == 1) return file;
  if (count < 0 || count > kMaxParts) {
    throw_invalid("{}: split.count: {} is not between 0 and {}", file.name(), count, kMaxParts);
  }
  if (file.integer("split.no").value_or(-1) != 0) {
    throw_invalid("{}: a later part of a split model; open its first part", file.name());
  }
  const std::string first = path.string();
  const std::string suffix = fmt::format("-00001-of-{:05}.gguf", count);
  if (!first.ends_with(suffix)) {
    throw_invalid("{}: a split model's first part is named …{}", file.name(), suffix);
  }
  const std::string stem = first.substr(0, first.size() - suffix.size());
  for (int64_t part = 1; part < count; ++part) {
    const std::string next = fmt::format("{}-{:05}-of-{:05}.gguf", stem, part + 1, count);
    if (!std::filesystem::exists(next)) {
      throw_invalid("{}: part {} of {} is missing: {}", file.name(), part + 1, count,
                    printable(next, kMaxPathBytes));
    }
    File shard = parse(open_input(next));
    if (shard.integer("split.no").value_or(-1) != part ||
        shard.integer("split.count").value_or(-1) != count) {
      throw_invalid("{}: not part {} of {}", shard.name(), part + 1, count);
    }
    file.add_shard(std::move(shard));
  }
  const std::optional<int64_t> total = file.integer("split.tensors.count");
  if (total && static_cast<uint64_t>(*total) != file.tensors_.size()) {
    throw_invalid("{}: split.tensors.count is {}, the parts hold {}", file.name(), *total,
                  file.tensors_.size());
  }
  return file;
}

void File::add_shard(File shard) {
  const auto number = static_cast<uint32_t>(inputs_.size());
  for (TensorInfo& info : shard.tensors_) {
    if (!tensor_index_.emplace(info.name, tensors_.size()).second) {
      throw_invalid("{}: tensor {} is in an earlier part too", shard.name(), printable(info.name));
    }
    info.shard = number;
    tensors_.push_back(std::move(info));
  }
  inputs_.push_back(std::move(shard.inputs_.front()));
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

const TensorInfo& File::require_tensor(std::string_view tensor) const {
  const TensorInfo* info = find_tensor(tensor);
  if (info == nullptr) throw_invalid("{}: tensor {} is missing", name(), printable(tensor));
  return *info;
}

void File::read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    throw_internal("{}: tensor {}: read past its end", name(), tensor.name);
  }
  inputs_[tensor.shard]->read(tensor.offset + offset, out);
}

}  // namespace adze::gguf
