#include "checkpoint/checkpoint.h"

#include <fmt/core.h>

#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/family.h"

namespace adze::checkpoint {
namespace {

std::vector<GgufFamily>& registry() {
  static std::vector<GgufFamily> families;
  return families;
}

const GgufFamily& find_family(const gguf::File& file) {
  const std::string_view name = file.require_text("general.architecture");
  std::string known;
  for (const GgufFamily& family : registry()) {
    if (family.architecture == name) return family;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.architecture);
  }
  throw_unsupported("{}: architecture '{}' is not supported; supported: {}", file.name(),
                    printable(name), known);
}

// The tensors of a file by its own names.
class FileTensors final : public graph::WeightSource {
 public:
  explicit FileTensors(std::shared_ptr<const gguf::File> file) : file_(std::move(file)) {}

  graph::WeightInfo info(const std::string& id) const override {
    const gguf::TensorInfo& tensor = file_->require_tensor(id);
    return {tensor.dtype, static_cast<int64_t>(tensor.rows()),
            static_cast<int64_t>(tensor.columns())};
  }
  bool contains(const std::string& id) const override { return file_->find_tensor(id) != nullptr; }
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    const gguf::TensorInfo& tensor = file_->require_tensor(id);
    const uint64_t row_bytes = tensor.bytes / tensor.rows();
    file_->read(tensor, static_cast<uint64_t>(first) * row_bytes, out);
  }

 private:
  std::shared_ptr<const gguf::File> file_;
};

// Canonical ids resolved to expressions over a file's tensors.
class CanonicalTensors final : public graph::WeightSource {
 public:
  CanonicalTensors(std::shared_ptr<const gguf::File> file, NameTable names)
      : name_(file->name()), tensors_(std::move(file)), names_(std::move(names)) {}

  graph::WeightInfo info(const std::string& id) const override { return find(id).info(tensors_); }
  bool contains(const std::string& id) const override { return names_.contains(id); }
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    find(id).read_rows(tensors_, first, out);
  }

 private:
  const graph::WeightExpression& find(const std::string& id) const {
    const auto found = names_.find(id);
    if (found == names_.end()) throw_invalid("{}: the model has no weight {}", name_, id);
    return *found->second;
  }

  std::string name_;
  FileTensors tensors_;
  NameTable names_;
};

// A tensor that nothing refers to (a bias, an extra norm) would change the answers: such a model is
// not this family.
void refuse_unused_tensors(const gguf::File& file, const NameTable& names) {
  std::set<std::string, std::less<>> used;
  for (const auto& [id, weight] : names) {
    for (std::string& source : weight->sources()) used.insert(std::move(source));
  }
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (!used.contains(tensor.name)) {
      throw_unsupported("{}: tensor {} has no place in this architecture", file.name(),
                        printable(tensor.name));
    }
  }
}

}  // namespace

RegisterGgufFamily::RegisterGgufFamily(const GgufFamily& family) { registry().push_back(family); }

Checkpoint open_checkpoint(const std::filesystem::path& path) {
  auto file = std::make_shared<const gguf::File>(gguf::File::open(path));
  const GgufFamily& family = find_family(*file);
  Checkpoint checkpoint;
  checkpoint.path = path.string();
  checkpoint.config = family.read_config(*file);
  NameTable names = family.name_weights(*file, checkpoint.config);
  refuse_unused_tensors(*file, names);
  checkpoint.weights = std::make_unique<CanonicalTensors>(file, std::move(names));
  checkpoint.chat_template = file->text("tokenizer.chat_template").value_or("");
  for (const gguf::TensorInfo& tensor : file->tensors()) checkpoint.tensor_bytes += tensor.bytes;
  checkpoint.file = std::move(file);
  return checkpoint;
}

}  // namespace adze::checkpoint
