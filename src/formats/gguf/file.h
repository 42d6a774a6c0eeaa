// Reading GGUF files, versions 2 and 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/gguf/value.h"
#include "tensor/dtype.h"

namespace adze::gguf {

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;  // outermost dimension first (the file has them innermost first)
  uint64_t offset = 0;          // bytes from the start of its file
  uint64_t bytes = 0;
  uint32_t shard = 0;  // which file of a split model

  uint64_t columns() const { return shape.back(); }
  uint64_t rows() const;  // product of the other dimensions
};

// An opened model: the header is in memory, tensor data stays in the file. Every count, length,
// dimension and offset has been checked against the file's size. Immutable and thread-safe.
class File {
 public:
  // Opens a file; for a split model, its first part, and then the others beside it. Throws
  // Error{kInvalidInput} naming file and offset, field or tensor, and Error{kUnsupported} for an
  // unknown version or tensor type.
  static File open(const std::filesystem::path& path);
  // A single file from any input.
  static File parse(std::unique_ptr<RandomAccessInput> input);

  const std::string& name() const { return inputs_.front()->name(); }
  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  // In the file's order.
  const std::vector<std::pair<std::string, Value>>& metadata() const { return metadata_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find_tensor(std::string_view name) const;
  // Throws Error{kInvalidInput} where absent.
  const TensorInfo& require_tensor(std::string_view name) const;
  // `out.size()` bytes of the tensor's data from `offset`; both lie within it.
  void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const;

  // --- Typed metadata. Optional ones give nothing where the key is absent; all throw
  // Error{kInvalidInput} naming file and key where the type is another or a number does not fit.
  // ---
  const Value* find(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;  // integers convert
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  const StringTable* strings(std::string_view key) const;
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<double>> reals(std::string_view key) const;  // integers convert
  int64_t require_integer(std::string_view key) const;
  double require_real(std::string_view key) const;
  std::string_view require_text(std::string_view key) const;
  [[noreturn]] void missing(std::string_view key) const;

 private:
  File() = default;
  void add_shard(File shard);

  std::vector<std::shared_ptr<const RandomAccessInput>> inputs_;  // by shard
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  std::vector<std::pair<std::string, Value>> metadata_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t, std::less<>> metadata_index_;
  std::map<std::string, size_t, std::less<>> tensor_index_;

  friend class Parser;
};

}  // namespace adze::gguf
