// Gemma 3's text models in Hugging Face folders. Its norms multiply by 1 + w.
#include <limits>

#include "base/error.h"
#include "checkpoint/family.h"
#include "checkpoint/hf_decoder.h"

namespace adze::checkpoint {
namespace {

constexpr WeightName kNames[] = {
    {"layers.{}.attention.query_norm", "model.layers.{}.self_attn.q_norm.weight"},
    {"layers.{}.attention.key_norm", "model.layers.{}.self_attn.k_norm.weight"},
    {"layers.{}.attention.post_norm", "model.layers.{}.post_attention_layernorm.weight"},
    {"layers.{}.mlp.norm", "model.layers.{}.pre_feedforward_layernorm.weight"},
    {"layers.{}.mlp.post_norm", "model.layers.{}.post_feedforward_layernorm.weight"},
};

// Which layers see a window: by layer in newer folders; in older ones all but every n-th.
std::vector<bool> read_windowed(const HfConfig& config, int32_t layers) {
  std::vector<bool> windowed;
  if (const auto types = config.texts("layer_types")) {
    if (types->size() != static_cast<size_t>(layers)) {
      throw_invalid("{}: {} types for {} layers", config.place("layer_types"), types->size(),
                    layers);
    }
    for (const std::string& type : *types) {
      if (type != "sliding_attention" && type != "full_attention") {
        throw_unsupported("{}: '{}' is not supported", config.place("layer_types"),
                          printable(type));
      }
      windowed.push_back(type == "sliding_attention");
    }
    return windowed;
  }
  constexpr int32_t kMaxPattern = 1 << 20;
  const int32_t pattern = config.require_count("sliding_window_pattern", kMaxPattern);
  for (int32_t layer = 1; layer <= layers; ++layer) windowed.push_back(layer % pattern != 0);
  return windowed;
}

struct Ropes {
  layers::Rope full;
  layers::Rope local;
};

Ropes read_ropes(const HfConfig& config) {
  constexpr double kTheta = 1e6;
  constexpr double kLocalTheta = 1e4;
  const auto both = config.object("rope_parameters");
  if (!both) {
    return {read_older_rope(config, kTheta),
            {.theta = config.positive("rope_local_base_freq").value_or(kLocalTheta)}};
  }
  both->refuse_others({"full_attention", "sliding_attention"});
  const auto one = [&](const char* key, double theta) {
    const auto rope = both->object(key);
    if (!rope) both->missing(key);
    return read_rope(*rope, theta);
  };
  return {one("full_attention", kTheta), one("sliding_attention", kLocalTheta)};
}

models::ModelConfig read_config(const HfConfig& config) {
  config.allow_only("hidden_activation", "gelu_pytorch_tanh");
  config.allow_only("attention_bias", false);
  for (const char* key : {"head_dim", "num_key_value_heads"}) {
    if (config.find(key) == nullptr) config.missing(key);  // no default that sizes tell
  }
  models::ModelConfig out = read_hf_decoder(config);
  out.architecture = "gemma3";
  out.tied_output = config.boolean("tie_word_embeddings").value_or(true);
  out.query_scalar = config.require_positive("query_pre_attn_scalar");
  const Ropes ropes = read_ropes(config);
  const int32_t window =
      config.require_count("sliding_window", std::numeric_limits<int32_t>::max());
  for (const bool windowed : read_windowed(config, out.layers)) {
    out.window.push_back(windowed ? window : 0);
    out.rope.push_back(windowed ? ropes.local : ropes.full);
  }
  return out;
}

NameTable name_weights(const graph::WeightSource& tensors, const std::string& file,
                       const models::ModelConfig& config) {
  NameTable names = name_tensors(kHfDecoderNames, config, tensors, file);
  names.merge(name_tensors(kNames, config, tensors, file));
  for (auto& [id, weight] : names) {
    if (id.ends_with("norm")) weight = graph::affine(weight, 1, 1);
  }
  return names;
}

const RegisterHfFamily kGemma3({"Gemma3ForCausalLM", read_config, name_weights});

}  // namespace
}  // namespace adze::checkpoint
