#include "formats/safetensors/header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/safetensors/limits.h"

namespace adze::safetensors {
namespace {

using Json = nlohmann::json;

// One tensor's entry as it is read.
struct Entry {
  TensorInfo info;
  bool has_shape = false;
  std::optional<std::vector<uint64_t>> offsets;  // begin and end
};

// Takes the parser's events: {name: {"dtype": text, "shape": [sizes], "data_offsets": [begin,
// end]}, "__metadata__": {key: text}}. Whatever is at another place is refused as it comes, so
// nesting costs nothing.
class HeaderReader {
 public:
  HeaderReader(const std::string& file, uint64_t text_offset)
      : file_(file), text_offset_(text_offset) {}

  Header take() { return std::move(header_); }

  // --- What nlohmann::json::sax_parse() calls. ---
  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("a boolean"); }
  bool number_integer(Json::number_integer_t value) { unexpected(fmt::format("{}", value)); }
  bool number_float(Json::number_float_t, const std::string& text) { unexpected(printable(text)); }
  bool binary(Json::binary_t&) { unexpected("binary data"); }

  bool number_unsigned(Json::number_unsigned_t value) {
    if (place_ != Place::kShape && place_ != Place::kOffsets) unexpected(fmt::format("{}", value));
    if (place_ == Place::kShape) {
      if (entry_.info.shape.size() == kMaxDimensions) {
        fail(fmt::format("more than {} dimensions", kMaxDimensions));
      }
      entry_.info.shape.push_back(value);
    } else {
      if (entry_.offsets->size() == 2) fail("more than two numbers");
      entry_.offsets->push_back(value);
    }
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace_back(field_, std::move(text));
    } else if (place_ == Place::kTensor && field_ == "dtype") {
      entry_.info.type = find_element_type(text);
      if (entry_.info.type == nullptr) {
        throw_unsupported("{}: {}: type '{}' is not supported", file_, where(), printable(text));
      }
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_object(size_t) {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = tensor_ == kMetadataKey ? Place::kMetadata : Place::kTensor;
      field_.clear();
      entry_ = {};
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& name) {
    if (place_ == Place::kTop) {
      tensor_ = std::move(name);
      if (!seen_.insert(tensor_).second) {
        throw_invalid("{}: {} appears twice", file_, where());
      }
    } else {
      field_ = std::move(name);
      if (place_ == Place::kMetadata && !metadata_keys_.insert(field_).second) {
        fail("appears twice");
      }
      const bool again = (field_ == "dtype" && entry_.info.type != nullptr) ||
                         (field_ == "shape" && entry_.has_shape) ||
                         (field_ == "data_offsets" && entry_.offsets);
      if (place_ == Place::kTensor && again) fail("appears twice");
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::kTensor) {
      field_.clear();
      finish_tensor();
    }
    place_ = Place::kTop;
    return true;
  }

  bool start_array(size_t) {
    if (place_ == Place::kTensor && field_ == "shape") {
      entry_.has_shape = true;
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && field_ == "data_offsets") {
      entry_.offsets.emplace();
      place_ = Place::kOffsets;
    } else {
      unexpected("an array");
    }
    return true;
  }

  bool end_array() {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    throw_invalid("{}: offset {}: the header is not JSON", file_, text_offset_ + position);
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets };
  static constexpr std::string_view kMetadataKey = "__metadata__";

  // What is being read, as messages name it.
  std::string where() const {
    if (place_ == Place::kStart || (place_ == Place::kTop && tensor_.empty())) return "header";
    std::string text = tensor_ == kMetadataKey ? tensor_ : "tensor " + printable(tensor_);
    return field_.empty() || place_ == Place::kTop ? text : text + ": " + printable(field_);
  }
  [[noreturn]] void fail(std::string_view reason) const {
    throw_invalid("{}: {}: {}", file_, where(), reason);
  }
  [[noreturn]] void unexpected(std::string_view what) const {
    fail(fmt::format("{} is not expected here", what));
  }

  void finish_tensor() {
    TensorInfo& info = entry_.info;
    if (info.type == nullptr) fail("dtype is missing");
    if (!entry_.has_shape) fail("shape is missing");
    if (!entry_.offsets || entry_.offsets->size() != 2) {
      fail("data_offsets are not two numbers");
    }
    const uint64_t begin = (*entry_.offsets)[0];
    const uint64_t end = (*entry_.offsets)[1];
    if (begin > end) fail(fmt::format("data_offsets: {} is after {}", begin, end));
    info.offset = begin;
    info.bytes = end - begin;
    check_size(info);
    if (header_.tensors.size() == kMaxTensors) {
      fail(fmt::format("more than {} tensors", kMaxTensors));
    }
    info.name = tensor_;
    header_.tensors.push_back(std::move(info));
  }

  void check_size(const TensorInfo& info) const {
    uint64_t bits = info.type->bits;
    for (const uint64_t size : info.shape) {
      if (__builtin_mul_overflow(bits, size, &bits)) fail("shape: the number of bytes overflows");
    }
    if (bits % 8 != 0) fail("shape: the elements do not fill whole bytes");
    if (bits / 8 != info.bytes) {
      fail(fmt::format("data_offsets: {} bytes, but its shape of {} needs {}", info.bytes,
                       info.type->name, bits / 8));
    }
  }

  const std::string& file_;
  uint64_t text_offset_;
  Place place_ = Place::kStart;
  std::string tensor_;
  std::string field_;
  Entry entry_;
  std::set<std::string> seen_;
  std::set<std::string> metadata_keys_;
  Header header_;
};

// Every byte of the data belongs to one tensor.
void check_places(std::vector<TensorInfo>& tensors, uint64_t data_bytes, const std::string& name) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  uint64_t end = 0;
  for (const TensorInfo& info : tensors) {
    const std::string shown = printable(info.name);
    if (info.offset > data_bytes || info.bytes > data_bytes - info.offset) {
      throw_invalid("{}: tensor {}: {} bytes at offset {} of the data are past the file's end",
                    name, shown, info.bytes, info.offset);
    }
    if (info.offset < end) {
      throw_invalid("{}: tensor {}: overlaps the one before it", name, shown);
    }
    if (info.offset > end) {
      throw_invalid("{}: tensor {}: {} bytes before it belong to no tensor", name, shown,
                    info.offset - end);
    }
    end = info.offset + info.bytes;
  }
  if (end != data_bytes) {
    throw_invalid("{}: the last {} bytes belong to no tensor", name, data_bytes - end);
  }
}

}  // namespace

Header parse_header(std::string_view text, uint64_t text_offset, uint64_t data_bytes,
                    const std::string& name) {
  if (!text.starts_with('{')) {
    throw_invalid("{}: offset {}: a header begins with '{{'", name, text_offset);
  }
  if (const size_t zero = find_zero_byte(text); zero != std::string_view::npos) {
    throw_invalid("{}: offset {}: a zero byte in the header", name, text_offset + zero);
  }
  HeaderReader reader(name, text_offset);
  Json::sax_parse(text.begin(), text.end(), &reader);
  Header header = reader.take();
  check_places(header.tensors, data_bytes, name);
  return header;
}

}  // namespace adze::safetensors
