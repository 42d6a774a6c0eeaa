// Models in Hugging Face folders.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/family.h"
#include "checkpoint/formats.h"
#include "checkpoint/hf_tokenizer.h"
#include "formats/safetensors/file.h"

namespace adze::checkpoint {
namespace {

std::vector<HfFamily>& registry() {
  static std::vector<HfFamily> families;
  return families;
}

const HfFamily& find_family(const HfConfig& config) {
  const auto names = config.texts("architectures");
  if (!names) config.missing("architectures");
  std::string known;
  for (const HfFamily& family : registry()) {
    if (names->size() == 1 && names->front() == family.architecture) return family;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.architecture);
  }
  throw_unsupported("{}: '{}' is not supported; supported: {}", config.place("architectures"),
                    printable(fmt::format("{}", fmt::join(*names, ", "))), known);
}

// The tensors of a folder by their own names.
class SafetensorsTensors final : public graph::WeightSource {
 public:
  explicit SafetensorsTensors(safetensors::File file) : file_(std::move(file)) {}

  graph::WeightInfo info(const std::string& id) const override {
    const safetensors::TensorInfo& tensor = file_.require_tensor(id);
    const std::string shown = printable(id);
    if (!tensor.type->dtype) {
      throw_unsupported("{}: tensor {}: type {} is not supported", file_.file_name(tensor), shown,
                        tensor.type->name);
    }
    const std::vector<uint64_t>& shape = tensor.shape;
    if (shape.empty() || shape.size() > 2 || tensor.bytes == 0) {
      throw_invalid("{}: tensor {}: shape [{}] is not of a vector or a matrix",
                    file_.file_name(tensor), shown, fmt::join(shape, ", "));
    }
    return {*tensor.type->dtype, shape.size() == 1 ? 1 : static_cast<int64_t>(shape.front()),
            static_cast<int64_t>(shape.back())};
  }
  bool contains(const std::string& id) const override { return file_.find_tensor(id) != nullptr; }
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    const uint64_t row_bytes = info(id).row_bytes();
    file_.read(file_.require_tensor(id), static_cast<uint64_t>(first) * row_bytes, out);
  }

 private:
  safetensors::File file_;
};

// Tables that old files keep beside the weights, though they follow from the configuration.
bool is_derived(std::string_view tensor) { return tensor.ends_with(".rotary_emb.inv_freq"); }

}  // namespace

RegisterHfFamily::RegisterHfFamily(const HfFamily& family) { registry().push_back(family); }

Checkpoint open_hf(const std::filesystem::path& folder) {
  const HfConfig config = HfConfig::open(folder / "config.json");
  const HfFamily& family = find_family(config);
  Checkpoint checkpoint;
  checkpoint.path = printable(folder.string(), kMaxPathBytes);
  checkpoint.config = family.read_config(config);
  safetensors::File file = safetensors::File::open_folder(folder);
  const std::string name = file.name();
  std::vector<std::string> tensors;
  for (const safetensors::TensorInfo& tensor : file.tensors()) {
    if (!is_derived(tensor.name)) tensors.push_back(tensor.name);
    checkpoint.tensor_bytes += tensor.bytes;
  }
  auto source = std::make_unique<SafetensorsTensors>(std::move(file));
  NameTable names = family.name_weights(*source, name, checkpoint.config);
  refuse_unused_tensors(tensors, names, name);
  checkpoint.weights = canonical_weights(name, std::move(source), std::move(names));
  checkpoint.chat_template = read_hf_chat_template(folder);
  checkpoint.tokenizer = start_hf_tokenizer(folder, checkpoint.config.vocabulary);
  return checkpoint;
}

}  // namespace adze::checkpoint
