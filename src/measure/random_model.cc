#include "measure/random_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "base/error.h"
#include "models/model.h"
#include "tensor/dtype.h"
#include "text/tokenizer/tokenizer.h"

namespace adze::measure {
namespace {

using graph::WeightInfo;

struct ShapeSpec {
  std::string_view name;
  std::string_view architecture;
  int32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;
  bool tied;
  int32_t window;  // Gemma 3's five layers of six; 0: none
  double theta;
};

// As the models' own config.json has them.
constexpr ShapeSpec kShapes[] = {
    {"smollm2-135m", "llama", 30, 576, 9, 3, 64, 1536, 49152, true, 0, 1e5},
    {"smollm2-360m", "llama", 32, 960, 15, 5, 64, 2560, 49152, true, 0, 1e5},
    {"llama-1b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, true, 0, 5e5},
    {"llama-3b", "llama", 28, 3072, 24, 8, 128, 8192, 128256, true, 0, 5e5},
    {"llama-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, false, 0, 5e5},
    {"gemma3-270m", "gemma3", 18, 640, 4, 1, 256, 2048, 262144, true, 512, 1e6},
    {"gemma3-1b", "gemma3", 26, 1152, 4, 1, 256, 6912, 262144, true, 512, 1e6},
};

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                            DType::kQ4_0, DType::kQ4_1, DType::kQ4_K};

std::string lower_name(DType dtype) {
  std::string name(dtype_info(dtype).name);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// Encoded normal values, to be copied from.
class Pieces {
 public:
  explicit Pieces(DType dtype, float deviation) {
    const DTypeInfo& type = dtype_info(dtype);
    elements_ = std::max<uint32_t>(32, type.block_elements);
    bytes_ = elements_ / type.block_elements * type.block_bytes;
    data_.resize(kCount * bytes_);
    std::mt19937_64 random(1);
    if (dtype == DType::kQ4_K) {
      fill_q4_k(random, deviation);
      return;
    }
    std::normal_distribution<float> normal(0.0f, deviation);
    std::vector<float> values(kCount * elements_);
    for (float& value : values) value = normal(random);
    encode(dtype, values, data_);
  }

  size_t elements() const { return elements_; }
  void copy(uint64_t index, std::byte* to) const {
    std::memcpy(to, data_.data() + index % kCount * bytes_, bytes_);
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kCount = 509;  // a prime: rows do not repeat each other

  // Random codes and sub-scales, with factors that give about the deviation.
  void fill_q4_k(std::mt19937_64& random, float deviation) {
    for (std::byte& byte : data_) byte = static_cast<std::byte>(random());
    const uint16_t d = f32_to_f16(deviation / 150.0f);
    const uint16_t dmin = f32_to_f16(deviation / 20.0f);
    for (size_t i = 0; i < kCount; ++i) {
      std::memcpy(data_.data() + i * bytes_, &d, 2);
      std::memcpy(data_.data() + i * bytes_ + 2, &dmin, 2);
    }
  }

  size_t elements_ = 0;
  size_t bytes_ = 0;
  std::vector<std::byte> data_;
};

class RandomWeights final : public graph::WeightSource {
 public:
  RandomWeights(const ShapeSpec& shape, DType dtype)
      : dtype_(dtype), pieces_(dtype, 1.0f / std::sqrt(static_cast<float>(shape.hidden))) {
    const bool gemma = shape.window > 0;
    const int64_t queries = int64_t{shape.heads} * shape.head_dim;
    const int64_t keys = int64_t{shape.kv_heads} * shape.head_dim;
    matrix("token_embedding", shape.vocabulary, shape.hidden);
    if (!shape.tied) matrix("output", shape.vocabulary, shape.hidden);
    norm("final_norm", shape.hidden);
    for (int32_t layer = 0; layer < shape.layers; ++layer) {
      const std::string attention = fmt::format("layers.{}.attention.", layer);
      const std::string mlp = fmt::format("layers.{}.mlp.", layer);
      norm(attention + "norm", shape.hidden);
      matrix(attention + "query", queries, shape.hidden);
      matrix(attention + "key", keys, shape.hidden);
      matrix(attention + "value", keys, shape.hidden);
      matrix(attention + "output", shape.hidden, queries);
      norm(mlp + "norm", shape.hidden);
      matrix(mlp + "gate", shape.ffn, shape.hidden);
      matrix(mlp + "up", shape.ffn, shape.hidden);
      matrix(mlp + "down", shape.hidden, shape.ffn);
      if (!gemma) continue;
      norm(attention + "query_norm", shape.head_dim);
      norm(attention + "key_norm", shape.head_dim);
      norm(attention + "post_norm", shape.hidden);
      norm(mlp + "post_norm", shape.hidden);
    }
  }

  WeightInfo info(const std::string& id) const override {
    const auto found = infos_.find(id);
    if (found == infos_.end()) throw_invalid("random model: there is no weight '{}'", id);
    return found->second;
  }
  bool contains(const std::string& id) const override { return infos_.contains(id); }

  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    const WeightInfo weight = info(id);
    if (weight.rows == 1) {
      std::vector<float> ones(static_cast<size_t>(weight.columns), 1.0f);
      std::memcpy(out.data(), ones.data(), out.size());
      return;
    }
    const size_t row_bytes = weight.row_bytes();
    for (size_t row = 0; row * row_bytes < out.size(); ++row) {
      std::minstd_rand random(
          static_cast<uint32_t>(std::hash<std::string>{}(id) + static_cast<size_t>(first) + row));
      for (size_t at = 0; at < row_bytes; at += pieces_.bytes()) {
        pieces_.copy(random(), out.data() + row * row_bytes + at);
      }
    }
  }

  uint64_t bytes() const {
    uint64_t bytes = 0;
    for (const auto& [id, info] : infos_) bytes += info.bytes();
    return bytes;
  }

 private:
  void matrix(const std::string& id, int64_t rows, int64_t columns) {
    if (columns % static_cast<int64_t>(pieces_.elements()) != 0) {
      throw_invalid("--random: {} holds {} elements in a block, {} has {} columns",
                    lower_name(dtype_), pieces_.elements(), id, columns);
    }
    infos_[id] = {dtype_, rows, columns};
  }
  void norm(const std::string& id, int64_t columns) { infos_[id] = {DType::kF32, 1, columns}; }

  DType dtype_;
  Pieces pieces_;
  std::map<std::string, WeightInfo> infos_;
};

models::ModelConfig config_of(const ShapeSpec& shape) {
  models::ModelConfig config;
  config.architecture = shape.architecture;
  config.name = shape.name;
  config.hidden = shape.hidden;
  config.layers = shape.layers;
  const auto layers = static_cast<size_t>(shape.layers);
  config.heads.assign(layers, shape.heads);
  config.kv_heads.assign(layers, shape.kv_heads);
  config.ffn.assign(layers, shape.ffn);
  config.head_dim = config.rotary_dim = shape.head_dim;
  config.vocabulary = shape.vocabulary;
  config.context_length = 131072;
  config.norm_epsilon = 1e-5;
  config.tied_output = shape.tied;
  config.query_scalar = shape.head_dim;
  for (int32_t layer = 0; layer < shape.layers; ++layer) {
    const bool windowed = shape.window > 0 && (layer + 1) % 6 != 0;
    config.window.push_back(windowed ? shape.window : 0);
    layers::Rope rope;
    rope.theta = windowed ? 1e4 : shape.theta;
    config.rope.push_back(rope);
  }
  return config;
}

std::unique_ptr<const text::Tokenizer> numbered_tokens(int32_t count) {
  text::VocabularyData data;
  data.model = "llama";
  for (int32_t id = 0; id < count; ++id) data.tokens.add(fmt::format("<{}>", id));
  data.scores.assign(static_cast<size_t>(count), 0.0f);
  return text::make_tokenizer(std::move(data));
}

}  // namespace

std::vector<std::string_view> random_shapes() {
  std::vector<std::string_view> names;
  for (const ShapeSpec& shape : kShapes) names.push_back(shape.name);
  return names;
}

std::vector<std::string> random_types() {
  std::vector<std::string> names;
  for (const DType dtype : kTypes) names.push_back(lower_name(dtype));
  return names;
}

checkpoint::Checkpoint random_checkpoint(std::string_view description) {
  const size_t colon = description.find(':');
  const std::string_view name = description.substr(0, colon);
  const std::string_view type =
      colon == std::string_view::npos ? "" : description.substr(colon + 1);
  const auto* shape =
      std::find_if(std::begin(kShapes), std::end(kShapes),
                   [&](const ShapeSpec& candidate) { return candidate.name == name; });
  if (shape == std::end(kShapes)) {
    throw_invalid("--random: no shape is named '{}'; there are: {}", printable(name),
                  fmt::join(random_shapes(), ", "));
  }
  const auto* dtype = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](DType candidate) { return lower_name(candidate) == type; });
  if (dtype == std::end(kTypes)) {
    throw_invalid("--random: '{}' is no type that is made here; write {}:TYPE with one of {}",
                  printable(type), shape->name, fmt::join(random_types(), ", "));
  }
  auto weights = std::make_unique<RandomWeights>(*shape, *dtype);
  checkpoint::Checkpoint checkpoint;
  checkpoint.path = fmt::format("random {}", printable(description));
  checkpoint.config = config_of(*shape);
  checkpoint.tensor_bytes = weights->bytes();
  checkpoint.weights = std::move(weights);
  checkpoint.tokenizer = std::async(std::launch::deferred, numbered_tokens, shape->vocabulary);
  return checkpoint;
}

}  // namespace adze::measure
