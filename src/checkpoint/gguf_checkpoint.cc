// Models in GGUF files.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/family.h"
#include "checkpoint/formats.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/make_tokenizer.h"

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
class GgufTensors final : public graph::WeightSource {
 public:
  explicit GgufTensors(gguf::File file) : file_(std::move(file)) {}

  const gguf::File& file() const { return file_; }

  graph::WeightInfo info(const std::string& id) const override {
    const gguf::TensorInfo& tensor = file_.require_tensor(id);
    return {tensor.dtype, static_cast<int64_t>(tensor.rows()),
            static_cast<int64_t>(tensor.columns())};
  }
  bool contains(const std::string& id) const override { return file_.find_tensor(id) != nullptr; }
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    const gguf::TensorInfo& tensor = file_.require_tensor(id);
    const uint64_t row_bytes = tensor.bytes / tensor.rows();
    file_.read(tensor, static_cast<uint64_t>(first) * row_bytes, out);
  }

 private:
  gguf::File file_;
};

}  // namespace

RegisterGgufFamily::RegisterGgufFamily(const GgufFamily& family) { registry().push_back(family); }

Checkpoint open_gguf(const std::filesystem::path& path) {
  auto source = std::make_unique<GgufTensors>(gguf::File::open(path));
  const gguf::File& file = source->file();
  const GgufFamily& family = find_family(file);
  Checkpoint checkpoint;
  checkpoint.path = file.name();
  checkpoint.config = family.read_config(file);
  NameTable names = family.name_weights(*source, file.name(), checkpoint.config);
  std::vector<std::string> tensors;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    tensors.push_back(tensor.name);
    checkpoint.tensor_bytes += tensor.bytes;
  }
  refuse_unused_tensors(tensors, names, file.name());
  checkpoint.chat_template = file.text("tokenizer.chat_template").value_or("");
  checkpoint.tokenizer = start_tokenizer(read_vocabulary(file), file.name());
  checkpoint.weights = canonical_weights(checkpoint.path, std::move(source), std::move(names));
  return checkpoint;
}

}  // namespace adze::checkpoint
