// The Llama family in Hugging Face folders.
#include "checkpoint/family.h"
#include "checkpoint/hf_decoder.h"

namespace adze::checkpoint {
namespace {

constexpr WeightName kNames[] = {
    {"layers.{}.mlp.norm", "model.layers.{}.post_attention_layernorm.weight"},
};

models::ModelConfig read_config(const HfConfig& config) {
  config.allow_only("hidden_act", "silu");
  config.allow_only("attention_bias", false);
  config.allow_only("mlp_bias", false);
  config.allow_only("rope_interleaved", false);
  config.refuse("sliding_window");
  models::ModelConfig out = read_hf_decoder(config);
  out.architecture = "llama";
  out.tied_output = config.boolean("tie_word_embeddings").value_or(false);
  out.query_scalar = out.head_dim;
  constexpr double kTheta = 1e4;
  const auto rope = config.object("rope_parameters");
  const auto layers = static_cast<size_t>(out.layers);
  out.rope.assign(layers, rope ? read_rope(*rope, kTheta) : read_older_rope(config, kTheta));
  out.window.assign(layers, 0);
  return out;
}

NameTable name_weights(const graph::WeightSource& tensors, const std::string& file,
                       const models::ModelConfig& config) {
  NameTable names = name_tensors(kHfDecoderNames, config, tensors, file);
  names.merge(name_tensors(kNames, config, tensors, file));
  return names;
}

const RegisterHfFamily kLlama({"LlamaForCausalLM", read_config, name_weights});

}  // namespace
}  // namespace adze::checkpoint
