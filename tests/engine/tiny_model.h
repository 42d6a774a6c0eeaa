// A small random model of the Llama family or of Gemma 3's in a GGUF file: real format, real
// tokenizer, weights from a seeded generator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "formats/gguf/writer.h"

namespace adze {

struct TinyModelSpec {
  int layers = 3;
  int hidden = 64;
  int heads = 4;
  int kv_heads = 2;
  int head_dim = 16;
  int ffn = 96;
  int context = 1024;
  int window = 0;  // above 0: a Gemma 3, whose layers see that many positions, every sixth all
  DType linear = DType::kQ4_1;
  DType embedding = DType::kQ8_0;
  uint32_t seed = 1;
};

// Byte-level vocabulary: the 256 bytes, then <|im_start|> and <|im_end|>.
inline constexpr int kTinyVocabulary = 258;

inline std::string code_point_utf8(uint32_t point) {
  if (point < 0x80) return {static_cast<char>(point)};
  return {static_cast<char>(0xc0 | point >> 6), static_cast<char>(0x80 | (point & 63))};
}

// GPT-2's spelling of bytes: printable Latin-1 as itself, the others from U+0100 on.
inline std::vector<std::string> tiny_tokens() {
  std::vector<std::string> tokens;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    tokens.push_back(code_point_utf8(printable ? byte : next++));
  }
  tokens.push_back("<|im_start|>");
  tokens.push_back("<|im_end|>");
  return tokens;
}

inline void write_tiny_model(const std::filesystem::path& path, const TinyModelSpec& spec = {}) {
  using gguf::value_of;
  gguf::Writer writer(path);
  const bool gemma = spec.window > 0;
  const std::string architecture = gemma ? "gemma3" : "llama";
  writer.add_metadata("general.architecture", value_of(architecture));
  const auto number = [&](const std::string& key, int value) {
    writer.add_metadata(architecture + "." + key, value_of(static_cast<uint32_t>(value)));
  };
  if (gemma) number("attention.sliding_window", spec.window);
  number("block_count", spec.layers);
  number("context_length", spec.context);
  number("embedding_length", spec.hidden);
  number("feed_forward_length", spec.ffn);
  number("attention.head_count", spec.heads);
  number("attention.head_count_kv", spec.kv_heads);
  number("attention.key_length", spec.head_dim);
  number("rope.dimension_count", spec.head_dim);
  writer.add_metadata(architecture + ".rope.freq_base", value_of(gemma ? 1e6f : 1e4f));
  writer.add_metadata(architecture + ".attention.layer_norm_rms_epsilon", value_of(1e-5f));
  writer.add_metadata("tokenizer.ggml.model", value_of("gpt2"));
  writer.add_metadata("tokenizer.ggml.pre", value_of("smollm"));
  StringTable tokens;
  std::vector<int32_t> types;
  for (const std::string& token : tiny_tokens()) {
    types.push_back(tokens.size() < 256 ? 1 : 3);
    tokens.add(token);
  }
  writer.add_metadata("tokenizer.ggml.tokens", value_of(tokens));
  writer.add_metadata("tokenizer.ggml.merges", value_of(StringTable()));
  writer.add_metadata("tokenizer.ggml.token_type", value_of(std::span<const int32_t>(types)));
  writer.add_metadata("tokenizer.ggml.eos_token_id", value_of(uint32_t{257}));
  struct Tensor {
    std::string name;
    DType dtype;
    std::vector<uint64_t> shape;
  };
  std::vector<Tensor> tensors;
  const auto add = [&](const std::string& name, DType dtype, int rows, int columns) {
    tensors.push_back({name, dtype,
                       rows == 1 ? std::vector<uint64_t>{static_cast<uint64_t>(columns)}
                                 : std::vector<uint64_t>{static_cast<uint64_t>(rows),
                                                         static_cast<uint64_t>(columns)}});
  };
  add("token_embd.weight", spec.embedding, kTinyVocabulary, spec.hidden);
  add("output_norm.weight", DType::kF32, 1, spec.hidden);
  for (int i = 0; i < spec.layers; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    add(block + "attn_norm.weight", DType::kF32, 1, spec.hidden);
    add(block + "attn_q.weight", spec.linear, spec.heads * spec.head_dim, spec.hidden);
    add(block + "attn_k.weight", spec.linear, spec.kv_heads * spec.head_dim, spec.hidden);
    add(block + "attn_v.weight", spec.linear, spec.kv_heads * spec.head_dim, spec.hidden);
    add(block + "attn_output.weight", spec.linear, spec.hidden, spec.heads * spec.head_dim);
    add(block + "ffn_norm.weight", DType::kF32, 1, spec.hidden);
    add(block + "ffn_gate.weight", spec.linear, spec.ffn, spec.hidden);
    add(block + "ffn_up.weight", spec.linear, spec.ffn, spec.hidden);
    add(block + "ffn_down.weight", spec.linear, spec.hidden, spec.ffn);
    if (!gemma) continue;
    add(block + "attn_q_norm.weight", DType::kF32, 1, spec.head_dim);
    add(block + "attn_k_norm.weight", DType::kF32, 1, spec.head_dim);
    add(block + "post_attention_norm.weight", DType::kF32, 1, spec.hidden);
    add(block + "post_ffw_norm.weight", DType::kF32, 1, spec.hidden);
  }
  for (const Tensor& tensor : tensors) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape);
  std::mt19937 random(spec.seed);
  for (const Tensor& tensor : tensors) {
    uint64_t count = 1;
    for (const uint64_t size : tensor.shape) count *= size;
    const bool norm = tensor.shape.size() == 1;
    std::normal_distribution<float> normal(norm ? 1.0f : 0.0f, norm ? 0.1f : 0.2f);
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    writer.write_floats(values);
  }
  writer.finish();
}

}  // namespace adze
