#include "checkpoint/hf_decoder.h"

#include <limits>

#include "base/error.h"
#include "checkpoint/decoder_limits.h"

namespace adze::checkpoint {
namespace {

void refuse_other_arithmetic(const HfConfig& config) {
  for (const char* key : {
           "quantization_config",
           "compression_config",  // weights in other encodings
           "num_local_experts",
           "num_experts",
           "n_routed_experts",
           "moe_intermediate_size",
           "attn_logit_softcapping",
           "final_logit_softcapping",
           "logit_scale",
           "logits_scaling",
           "embedding_multiplier",
           "residual_multiplier",
           "attention_multiplier",
           "attention_chunk_size",
           "no_rope_layers",
           "use_qk_norm",
           "clip_qkv",
           "num_kv_shared_layers",
       }) {
    config.refuse(key);
  }
  if (config.find("rope_parameters") != nullptr) config.refuse("rope_scaling");  // which counts?
  config.allow_only("partial_rotary_factor", 1);
  config.allow_only("is_causal", true);
  config.allow_only("is_encoder_decoder", false);
  config.allow_only("use_bidirectional_attention", false);
  config.allow_only("add_cross_attention", false);
}

// Older files call it "type".
std::string rope_type(const HfConfig& rope) {
  const auto older = rope.text("type");
  const auto type = rope.text("rope_type");
  if (older && type && *older != *type) {
    throw_invalid("{}: '{}' beside the type '{}'", rope.place("rope_type"), printable(*type),
                  printable(*older));
  }
  return type ? *type : older.value_or("default");
}

}  // namespace

models::ModelConfig read_hf_decoder(const HfConfig& config) {
  refuse_other_arithmetic(config);
  models::ModelConfig out;
  out.layers = config.require_count("num_hidden_layers", kMaxLayers);
  out.hidden = config.require_count("hidden_size", kMaxWidth);
  out.context_length =
      config.require_count("max_position_embeddings", std::numeric_limits<int32_t>::max());
  out.vocabulary = config.require_count("vocab_size", std::numeric_limits<int32_t>::max());
  const int32_t heads = config.require_count("num_attention_heads", kMaxWidth);
  const int32_t kv_heads = config.count("num_key_value_heads", kMaxWidth).value_or(heads);
  const int32_t ffn = config.require_count("intermediate_size", kMaxWidth);
  const auto layers = static_cast<size_t>(out.layers);
  out.heads.assign(layers, heads);
  out.kv_heads.assign(layers, kv_heads);
  out.ffn.assign(layers, ffn);
  const auto head_dim = config.count("head_dim", kMaxWidth);
  if (!head_dim && out.hidden % heads != 0) {
    throw_invalid("{}: {} is not a multiple of {} heads", config.place("hidden_size"), out.hidden,
                  heads);
  }
  out.head_dim = head_dim.value_or(out.hidden / heads);
  check_heads(out, config.place("num_attention_heads"), config.place("head_dim"));
  out.rotary_dim = out.head_dim;
  out.norm_epsilon = config.require_positive("rms_norm_eps");
  return out;
}

layers::Rope read_rope(const HfConfig& rope, double theta) {
  layers::Rope out;
  out.theta = rope.positive("rope_theta").value_or(theta);
  const std::string type = rope_type(rope);
  if (type == "default") {
    rope.refuse_others({"rope_type", "type", "rope_theta"});
  } else if (type == "linear") {
    rope.refuse_others({"rope_type", "type", "rope_theta", "factor"});
    out.factor = rope.require_positive("factor");
  } else if (type == "llama3") {
    rope.refuse_others({"rope_type", "type", "rope_theta", "factor", "low_freq_factor",
                        "high_freq_factor", "original_max_position_embeddings"});
    out.factor = rope.require_positive("factor");
    out.low_frequency_factor = rope.require_positive("low_freq_factor");
    out.high_frequency_factor = rope.require_positive("high_freq_factor");
    out.original_context =
        rope.require_count("original_max_position_embeddings", std::numeric_limits<int32_t>::max());
    if (out.high_frequency_factor <= out.low_frequency_factor) {
      throw_invalid("{}: {} is not above low_freq_factor, {}", rope.place("high_freq_factor"),
                    out.high_frequency_factor, out.low_frequency_factor);
    }
  } else {
    throw_unsupported("{}: '{}' is not supported", rope.place("rope_type"), printable(type));
  }
  return out;
}

layers::Rope read_older_rope(const HfConfig& config, double theta) {
  theta = config.positive("rope_theta").value_or(theta);
  const auto scaling = config.object("rope_scaling");
  if (!scaling) return {.theta = theta};
  scaling->refuse("rope_theta");
  return read_rope(*scaling, theta);
}

}  // namespace adze::checkpoint
