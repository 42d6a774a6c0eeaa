// The Llama family in Hugging Face folders.
#include "checkpoint/family.h"
#include "checkpoint/hf_decoder.h"

namespace adze::checkpoint {
namespace {

constexpr WeightName kNames[] = {
    {"layers.{}.mlp.norm", "model.layers.{}.post_attention_layernorm.weight"},
};

constexpr WeightName kAttentionBiases[] = {
    {"layers.{}.attention.query_bias", "model.layers.{}.self_attn.q_proj.bias"},
    {"layers.{}.attention.key_bias", "model.layers.{}.self_attn.k_proj.bias"},
    {"layers.{}.attention.value_bias", "model.layers.{}.self_attn.v_proj.bias"},
    {"layers.{}.attention.output_bias", "model.layers.{}.self_attn.o_proj.bias"},
};

constexpr WeightName kMlpBiases[] = {
    {"layers.{}.mlp.gate_bias", "model.layers.{}.mlp.gate_proj.bias"},
    {"layers.{}.mlp.up_bias", "model.layers.{}.mlp.up_proj.bias"},
    {"layers.{}.mlp.down_bias", "model.layers.{}.mlp.down_proj.bias"},
};

models::ModelConfig read_config(const HfConfig& config) {
  config.allow_only("hidden_act", "silu");
  config.allow_only("rope_interleaved", false);
  config.refuse("sliding_window");
  models::ModelConfig out = read_hf_decoder(config);
  out.architecture = "llama";
  out.tied_output = config.boolean("tie_word_embeddings").value_or(false);
  out.query_scalar = out.head_dim;
  out.attention_bias = config.boolean("attention_bias").value_or(false);
  out.mlp_bias = config.boolean("mlp_bias").value_or(false);
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
  if (config.attention_bias) {
    names.merge(name_tensors(kAttentionBiases, config, tensors, file));
  }
  if (config.mlp_bias) names.merge(name_tensors(kMlpBiases, config, tensors, file));
  return names;
}

const RegisterHfFamily kLlama({"LlamaForCausalLM", read_config, name_weights});

}  // namespace
}  // namespace adze::checkpoint
