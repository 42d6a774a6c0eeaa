// Writing GGUF files, version 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/gguf/value.h"
#include "tensor/dtype.h"

namespace adze::gguf {

// Writes a file from front to back: first all metadata and tensor declarations, then the tensors'
// data in the order of their declaration, in pieces of any size, then finish(). The file appears
// under its name in finish(); without it nothing is left behind. Not thread-safe.
//
// Throws Error{kInvalidInput} naming file and key or tensor where the reader would refuse the
// result, and Error{kUnavailable} where the file cannot be written. Calls out of order, and data of
// another size than was declared, are Error{kInternal}.
class Writer {
 public:
  explicit Writer(std::filesystem::path path);

  // In the order of calls. The key general.alignment sets the alignment, too; without it, it is 32.
  void add_metadata(const std::string& key, const Value& value);
  // `shape` outermost dimension first, as TensorInfo has it.
  void add_tensor(const std::string& name, DType dtype, std::span<const uint64_t> shape);

  // The next bytes of the data, in the tensor's own encoding. A piece ends within a tensor.
  void write_blocks(std::span<const std::byte> blocks);
  // The same from float32, encoded to the tensor's type (one that encode() knows); whole blocks.
  void write_floats(std::span<const float> values);

  // All data must have been written.
  void finish();

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    uint64_t bytes = 0;
    uint64_t offset = 0;  // in the data
    std::string entry;    // as in the file, up to the offset
  };

  void write_header();
  void pad(uint64_t data_offset);
  const Tensor& current();

  std::filesystem::path path_;
  std::string name_;  // of the file, for messages
  AtomicFileWriter file_;
  uint64_t alignment_ = 32;
  std::string metadata_;
  std::set<std::string, std::less<>> keys_;
  std::vector<Tensor> tensors_;
  std::set<std::string, std::less<>> tensor_names_;
  bool header_written_ = false;
  uint64_t data_start_ = 0;  // offset in the file
  size_t current_ = 0;       // the tensor that the next data belongs to
  uint64_t written_ = 0;     // bytes of it
};

}  // namespace adze::gguf
