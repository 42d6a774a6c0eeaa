// Gemma 3 in GGUF files. The converter has already added the 1 of its norms' 1 + w.
#include <limits>

#include "base/error.h"
#include "checkpoint/family.h"
#include "checkpoint/gguf_decoder.h"

namespace adze::checkpoint {
namespace {

constexpr WeightName kNames[] = {
    {"layers.{}.attention.query_norm", "blk.{}.attn_q_norm.weight"},
    {"layers.{}.attention.key_norm", "blk.{}.attn_k_norm.weight"},
    {"layers.{}.attention.post_norm", "blk.{}.post_attention_norm.weight"},
    {"layers.{}.mlp.post_norm", "blk.{}.post_ffw_norm.weight"},
};

constexpr int32_t kPattern = 6;      // every sixth layer sees all positions
constexpr double kLocalTheta = 1e4;  // of the others, where the file does not say
constexpr int32_t kLayersOf27B = 62;

models::ModelConfig read_config(const gguf::File& file) {
  const GgufKeys keys(file, "gemma3");
  models::ModelConfig config = read_decoder_config(keys);
  config.architecture = "gemma3";
  if (file.real(keys.key("final_logit_softcapping")).value_or(0) != 0) {
    throw_unsupported("{}: {} is not supported", file.name(), keys.key("final_logit_softcapping"));
  }
  if (keys.contains("attention.sliding_window_pattern")) {
    throw_unsupported("{}: {} is not supported", file.name(),
                      keys.key("attention.sliding_window_pattern"));
  }
  if (file.integer(keys.key("attention.sliding_window")).value_or(0) != 0) {
    const int32_t window =
        keys.count("attention.sliding_window", std::numeric_limits<int32_t>::max());
    const double theta = keys.positive("rope.freq_base_swa").value_or(kLocalTheta);
    for (size_t i = 0; i < config.window.size(); ++i) {
      if ((i + 1) % kPattern == 0) continue;
      config.window[i] = window;
      config.rope[i] = {.theta = theta};
    }
  }
  // The format has no key for it, and one published size departs from the head's width.
  if (config.layers == kLayersOf27B) {
    config.query_scalar = static_cast<double>(config.hidden) / config.heads.front();
  }
  return config;
}

NameTable name_weights(const graph::WeightSource& tensors, const std::string& file,
                       const models::ModelConfig& config) {
  NameTable names = name_tensors(kGgufDecoderNames, config, tensors, file);
  names.merge(name_tensors(kNames, config, tensors, file));
  return names;
}

const RegisterGgufFamily kGemma3({"gemma3", read_config, name_weights});

}  // namespace
}  // namespace adze::checkpoint
