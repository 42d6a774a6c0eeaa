// Reading safetensors files, whole models in several files too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "formats/safetensors/types.h"

namespace adze::safetensors {

struct TensorInfo {
  std::string name;
  const ElementType* type = nullptr;  // never null in an opened file
  std::vector<uint64_t> shape;        // outermost dimension first; none: a scalar
  uint64_t offset = 0;                // bytes from the start of its file
  uint64_t bytes = 0;
  uint32_t part = 0;  // which file of a model in several

  uint64_t elements() const;  // 0 where a dimension is
};

// An opened model: headers are in memory, tensor data stays in the files. Every length, dimension
// and offset has been checked against the size of its file. Immutable and thread-safe.
class File {
 public:
  // The model in a folder: model.safetensors or, where there is none, the files that
  // model.safetensors.index.json names, which must lie in the folder itself. Throws
  // Error{kInvalidInput} naming file and offset, field or tensor, and Error{kUnsupported} for an
  // element type that the format does not define.
  static File open_folder(const std::filesystem::path& folder);
  // A single file from any input.
  static File parse(std::unique_ptr<RandomAccessInput> input);

  // Of the single file or of the index, for messages.
  const std::string& name() const { return name_; }
  size_t parts() const { return inputs_.size(); }
  // What the first file says about itself; usually {"format", "pt"}.
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  // By part, and in the order of their data.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find_tensor(std::string_view name) const;
  // Throws Error{kInvalidInput} where absent.
  const TensorInfo& require_tensor(std::string_view name) const;
  // The name of the file that holds the tensor, for messages.
  const std::string& file_name(const TensorInfo& tensor) const {
    return inputs_[tensor.part]->name();
  }
  // `out.size()` bytes of the tensor's data from `offset`; both lie within it.
  void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const;

 private:
  File() = default;
  static File open_index(const std::filesystem::path& index);
  void add(File part);

  std::string name_;
  std::vector<std::shared_ptr<const RandomAccessInput>> inputs_;  // by part
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace adze::safetensors
