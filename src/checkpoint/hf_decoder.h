// What the decoder families have in common in Hugging Face folders.
#pragma once

#include "checkpoint/hf_config.h"
#include "checkpoint/names.h"
#include "models/model.h"

namespace adze::checkpoint {

// Sizes, heads and norms by the keys that all decoders use. Refuses by name what changes the
// arithmetic of any of them and is not supported: quantized weights, mixtures of experts, soft
// caps, bidirectional attention, partial rotation and the like. Leaves windows and rotation to the
// family.
models::ModelConfig read_hf_decoder(const HfConfig& config);

// Rotation as an object of rope_parameters has it; `theta` where it does not say. Kinds: default,
// linear, llama3; others are refused by name.
layers::Rope read_rope(const HfConfig& rope, double theta);
// … and as older folders have it: rope_theta beside rope_scaling, which may be absent.
layers::Rope read_older_rope(const HfConfig& config, double theta);

// The tensors that every decoder has under one name.
inline constexpr WeightName kHfDecoderNames[] = {
    {"token_embedding", "model.embed_tokens.weight"},
    {"output", "lm_head.weight"},
    {"final_norm", "model.norm.weight"},
    {"layers.{}.attention.norm", "model.layers.{}.input_layernorm.weight"},
    {"layers.{}.attention.query", "model.layers.{}.self_attn.q_proj.weight"},
    {"layers.{}.attention.key", "model.layers.{}.self_attn.k_proj.weight"},
    {"layers.{}.attention.value", "model.layers.{}.self_attn.v_proj.weight"},
    {"layers.{}.attention.output", "model.layers.{}.self_attn.o_proj.weight"},
    {"layers.{}.mlp.gate", "model.layers.{}.mlp.gate_proj.weight"},
    {"layers.{}.mlp.up", "model.layers.{}.mlp.up_proj.weight"},
    {"layers.{}.mlp.down", "model.layers.{}.mlp.down_proj.weight"},
};

}  // namespace adze::checkpoint
