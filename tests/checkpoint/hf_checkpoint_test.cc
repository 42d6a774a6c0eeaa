// Hugging Face folders whose configuration or tokenizer files are wrong: one clear error each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/hf_tokenizer.h"

namespace adze::checkpoint {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kNoError = "no error";

// A copy of a folder of tests/golden/tiny that a test may spoil.
class Folder {
 public:
  explicit Folder(const std::string& golden = "llama_f32")
      : path_(testing::TempDir() + "adze_checkpoint_" + golden) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(ADZE_SOURCE_DIR "/tests/golden/tiny/" + golden, path_);
    original_ = read();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const char* file) const { return path_ / file; }
  const std::filesystem::path& path() const { return path_; }

  json read(const char* file = "config.json") const {
    return json::parse(std::ifstream(path_ / file));
  }
  void write(const std::string& text, const char* file = "config.json") const {
    std::ofstream(path_ / file) << text;
  }
  void write(const json& value, const char* file = "config.json") const {
    write(value.dump(), file);
  }
  // The configuration with one key changed.
  void set(const std::string& key, const json& value) const {
    json config = original_;
    config[key] = value;
    write(config);
  }
  void erase(const std::string& key) const {
    json config = original_;
    config.erase(key);
    write(config);
  }

  // The error of opening it, which names a file of the folder.
  std::string error(ErrorKind kind = ErrorKind::kInvalidInput) const {
    try {
      open_checkpoint(path_).tokenizer.get();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string()));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
      return error.what();
    }
    return kNoError;
  }
  // The same where only the message counts.
  std::string any_error() const {
    try {
      open_checkpoint(path_).tokenizer.get();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string()));
      EXPECT_NE(error.kind(), ErrorKind::kInternal) << error.what();
      return error.what();
    }
    return kNoError;
  }

 private:
  std::filesystem::path path_;
  json original_;
};

TEST(HfCheckpoint, ReadsConfigurationWeightsAndTokenizer) {
  const Folder folder;
  Checkpoint checkpoint = open_checkpoint(folder.path());
  EXPECT_EQ(checkpoint.path, folder.path().string());
  const models::ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.hidden, 32);
  EXPECT_EQ(config.heads, (std::vector<int32_t>{4, 4}));
  EXPECT_EQ(config.kv_heads, (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(config.ffn, (std::vector<int32_t>{40, 40}));
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.vocabulary, 280);
  EXPECT_EQ(config.context_length, 512);
  EXPECT_DOUBLE_EQ(config.norm_epsilon, 1e-5);
  EXPECT_FALSE(config.tied_output);
  EXPECT_EQ(checkpoint.weights->info("layers.1.attention.key"),
            (graph::WeightInfo{DType::kF32, 32, 32}));
  EXPECT_EQ(checkpoint.weights->info("final_norm"), (graph::WeightInfo{DType::kF32, 1, 32}));
  EXPECT_FALSE(checkpoint.weights->contains("layers.2.attention.key"));
  EXPECT_THAT(checkpoint.chat_template, HasSubstr("<|im_start|>"));
  EXPECT_EQ(checkpoint.tokenizer.get()->vocabulary().size(), 280);
}

TEST(HfCheckpoint, TruncatedConfigurationAtEveryByte) {
  const Folder folder;
  const std::string text = folder.read().dump();
  for (size_t size = 0; size < text.size(); ++size) {
    folder.write(text.substr(0, size));
    EXPECT_THAT(folder.error(), AllOf(HasSubstr("config.json: offset"), HasSubstr("not JSON")));
  }
}

TEST(HfCheckpoint, BoundaryValuesAndWrongTypesInEveryCount) {
  const Folder folder;
  const std::vector<std::string> keys = {
      "hidden_size",       "num_hidden_layers",       "num_attention_heads", "num_key_value_heads",
      "intermediate_size", "max_position_embeddings", "vocab_size",          "head_dim"};
  const std::vector<std::string> values = {"0",
                                           "-1",
                                           "2147483647",
                                           "2147483648",
                                           "2147483649",
                                           "4294967297",
                                           "-2147483648",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "1e300",
                                           "32.0",
                                           "1.5",
                                           "\"32\"",
                                           "true",
                                           "[]",
                                           "[32]",
                                           "{}"};
  for (const std::string& key : keys) {
    for (const std::string& value : values) {
      // Any context is possible: what does not fit into memory is the plan's to say.
      if (key == "max_position_embeddings" && value == "2147483647") continue;
      folder.set(key, json::parse(value));
      const std::string error = folder.any_error();
      EXPECT_NE(error, kNoError) << key << ": " << value;
      const bool in_range = value == "2147483647" && key == "vocab_size";
      if (!in_range) {
        EXPECT_THAT(error, HasSubstr("config.json: " + key)) << value;
      }
    }
    folder.erase(key);
    if (key == "num_key_value_heads" || key == "head_dim") {
      EXPECT_THAT(folder.error(), HasSubstr("model.safetensors: tensor")) << "other shapes";
    } else {
      EXPECT_THAT(folder.error(), HasSubstr("config.json: " + key + " is missing"));
    }
  }
}

TEST(HfCheckpoint, RealNumbersOutOfRange) {
  const Folder folder;
  for (const char* value : {"0", "-1e-5", "1e31", "\"1e-5\"", "[]", "true"}) {
    folder.set("rms_norm_eps", json::parse(value));
    EXPECT_THAT(folder.error(), HasSubstr("config.json: rms_norm_eps: "));
    folder.set("rope_parameters", {{"rope_type", "default"}, {"rope_theta", json::parse(value)}});
    EXPECT_THAT(folder.error(), HasSubstr("config.json: rope_parameters.rope_theta: "));
  }
}

TEST(HfCheckpoint, SizesThatDoNotGoTogether) {
  const Folder folder;
  folder.set("num_key_value_heads", 3);
  EXPECT_THAT(folder.error(), HasSubstr("num_attention_heads: 4 is not a multiple of 3 key heads"));
  folder.set("head_dim", 15);
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("head_dim: 15 is odd"));
  folder.set("head_dim", 1 << 23);
  EXPECT_THAT(folder.error(), HasSubstr("num_attention_heads: 4 heads of 8388608 are more than"));
  folder.set("head_dim", 32);
  EXPECT_THAT(
      folder.error(),
      HasSubstr("tensor model.layers.0.self_attn.q_proj.weight: 64 × 32, expected 128 × 32"));
  folder.set("vocab_size", 281);
  EXPECT_THAT(folder.error(),
              HasSubstr("tensor model.embed_tokens.weight: 280 × 32, expected 281"));
  folder.set("num_hidden_layers", 3);
  EXPECT_THAT(folder.error(), HasSubstr("tensor model.layers.2.input_layernorm.weight is missing"));
  folder.set("num_hidden_layers", 1);
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported),
              HasSubstr("tensor model.layers.1.input_layernorm.weight has no place"));
  folder.set("tie_word_embeddings", true);
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("tensor lm_head.weight has no"));
}

TEST(HfCheckpoint, BiasesThatTheConfigurationPromisesMustBeThere) {
  Folder folder;
  folder.set("attention_bias", true);
  EXPECT_THAT(folder.error(), HasSubstr("model.layers.0.self_attn.q_proj.bias"));
  folder.set("attention_bias", false);
  folder.set("mlp_bias", true);
  EXPECT_THAT(folder.error(), HasSubstr("model.layers.0.mlp.gate_proj.bias"));
}

TEST(HfCheckpoint, WhatChangesTheArithmeticIsRefusedByName) {
  const Folder folder;
  const std::vector<std::pair<const char*, json>> changes = {
      {"hidden_act", "gelu"},
      {"rope_interleaved", true},
      {"sliding_window", 4096},
      {"quantization_config", {{"quant_method", "gptq"}}},
      {"num_local_experts", 8},
      {"final_logit_softcapping", 30.0},
      {"attn_logit_softcapping", 50.0},
      {"partial_rotary_factor", 0.5},
      {"is_causal", false},
      {"use_bidirectional_attention", true},
  };
  for (const auto& [key, value] : changes) {
    folder.set(key, value);
    EXPECT_THAT(
        folder.error(ErrorKind::kUnsupported),
        AllOf(HasSubstr(fmt::format("config.json: {}: ", key)), HasSubstr("not supported")));
    folder.set(key, nullptr);
    EXPECT_EQ(folder.error(), kNoError) << key;
  }
  for (const auto& [key, value] : std::vector<std::pair<const char*, json>>{{"pretraining_tp", 2},
                                                                            {"use_cache", false},
                                                                            {"anything", {1, 2}},
                                                                            {"torch_dtype", "x"}}) {
    folder.set(key, value);
    EXPECT_EQ(folder.error(), kNoError) << key;
  }
}

TEST(HfCheckpoint, RotaryScaling) {
  const Folder folder("llama_bf16_llama3");
  const json right = folder.read()["rope_scaling"];
  const auto with = [&](const std::string& key, const json& value) {
    json scaling = right;
    scaling[key] = value;
    folder.set("rope_scaling", scaling);
  };
  const auto rope = [&] { return open_checkpoint(folder.path()).config.rope.at(1); };
  EXPECT_EQ(rope().factor, 8);
  EXPECT_EQ(rope().original_context, 32);
  EXPECT_EQ(rope().low_frequency_factor, 1);
  EXPECT_EQ(rope().high_frequency_factor, 4);
  for (const auto& [key, value] : right.items()) {
    if (key == "rope_type") continue;
    with(key, nullptr);
    EXPECT_THAT(folder.error(), HasSubstr(fmt::format("rope_scaling.{} is missing", key)));
    for (const char* wrong : {"0", "-1", "\"8\"", "[8]", "true"}) {
      with(key, json::parse(wrong));
      EXPECT_THAT(folder.error(), HasSubstr(fmt::format("rope_scaling.{}: ", key))) << wrong;
    }
  }
  with("high_freq_factor", 1.0);
  EXPECT_THAT(folder.error(), HasSubstr("rope_scaling.high_freq_factor: 1 is not above"));
  with("beta_fast", 32);
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("rope_scaling.beta_fast: not sup"));
  with("type", "linear");
  EXPECT_THAT(folder.error(),
              HasSubstr("rope_scaling.rope_type: 'llama3' beside the type 'linear'"));
  for (const char* type : {"yarn", "dynamic", "longrope", ""}) {
    with("rope_type", type);
    EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("rope_scaling.rope_type: '"));
  }
  folder.set("rope_parameters", {{"rope_type", "default"}});
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("config.json: rope_scaling: "));
}

TEST(HfCheckpoint, Gemma3InNewerAndOlderFolders) {
  const Folder folder("gemma3_bf16");
  const models::ModelConfig newer = open_checkpoint(folder.path()).config;
  EXPECT_EQ(newer.window, (std::vector<int32_t>{24, 24, 0, 24}));
  EXPECT_EQ(newer.rope.at(1).theta, 1e4);
  EXPECT_EQ(newer.rope.at(2).theta, 1e6);
  EXPECT_EQ(newer.query_scalar, 24);
  EXPECT_TRUE(newer.tied_output);

  json older = folder.read();
  for (const char* key : {"rope_parameters", "layer_types", "tie_word_embeddings"})
    older.erase(key);
  older["sliding_window_pattern"] = 3;
  older["rope_theta"] = 5e5;
  older["rope_local_base_freq"] = 2e4;
  older["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  folder.write(older);
  const models::ModelConfig config = open_checkpoint(folder.path()).config;
  EXPECT_EQ(config.window, newer.window);
  EXPECT_EQ(config.rope.at(1).theta, 2e4);
  EXPECT_EQ(config.rope.at(1).factor, 1);
  EXPECT_EQ(config.rope.at(2).theta, 5e5);
  EXPECT_EQ(config.rope.at(2).factor, 8);
  EXPECT_TRUE(config.tied_output);
}

TEST(HfCheckpoint, Gemma3RefusesWhatItDoesNotKnow) {
  const Folder folder("gemma3_bf16");
  for (const char* key :
       {"head_dim", "num_key_value_heads", "query_pre_attn_scalar", "sliding_window"}) {
    folder.erase(key);
    EXPECT_THAT(folder.error(), HasSubstr(fmt::format("config.json: {} is missing", key)));
  }
  folder.erase("layer_types");
  EXPECT_THAT(folder.error(), HasSubstr("sliding_window_pattern is missing"));
  folder.set("layer_types", {"full_attention"});
  EXPECT_THAT(folder.error(), HasSubstr("layer_types: 1 types for 4 layers"));
  folder.set("layer_types", std::vector<std::string>(4, "chunked_attention"));
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("layer_types: 'chunked_attention'"));
  for (const char* value : {"0", "-1", "2147483648", "\"24\"", "1.5"}) {
    folder.set("sliding_window", json::parse(value));
    EXPECT_THAT(folder.error(), HasSubstr("config.json: sliding_window: ")) << value;
  }
  folder.set("hidden_activation", "silu");
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("hidden_activation: \"silu\""));
  folder.set("final_logit_softcapping", 30.0);
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("final_logit_softcapping"));
  folder.set("rope_parameters", {{"full_attention", {{"rope_type", "default"}}}});
  EXPECT_THAT(folder.error(), HasSubstr("rope_parameters.sliding_attention is missing"));
  folder.set("architectures", {"Gemma3ForConditionalGeneration"});
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported),
              AllOf(HasSubstr("'Gemma3ForConditionalGeneration' is not supported"),
                    HasSubstr("Gemma3ForCausalLM")));
}

TEST(HfCheckpoint, Architectures) {
  const Folder folder;
  for (const json& names : {json{"MambaForCausalLM"}, json{"LlamaForCausalLM", "x"}, json::array(),
                            json{"LlamaForSequenceClassification\n"}}) {
    folder.set("architectures", names);
    EXPECT_THAT(folder.error(ErrorKind::kUnsupported),
                AllOf(HasSubstr("architectures: "), HasSubstr("LlamaForCausalLM")));
  }
  for (const json& names : {json("LlamaForCausalLM"), json{1}, json(1), json::object()}) {
    folder.set("architectures", names);
    EXPECT_THAT(folder.error(), HasSubstr("architectures: "));
  }
  folder.erase("architectures");
  EXPECT_THAT(folder.error(), HasSubstr("architectures is missing"));
}

TEST(HfCheckpoint, OtherJson) {
  const Folder folder;
  const std::string right = folder.read().dump();
  for (const char* text : {"[]", "null", "1", "\"\""}) {
    folder.write(std::string(text));
    EXPECT_THAT(folder.error(), HasSubstr("config.json: not an object"));
  }
  folder.write(R"({"hidden_size":32,)" + right.substr(1));
  EXPECT_THAT(folder.error(), HasSubstr("'hidden_size' appears twice"));
  for (const std::string open : {"[", R"({"a":)"}) {
    std::string deep = R"({"x":)";
    for (int i = 0; i < 100000; ++i) deep += open;
    folder.write(deep);
    EXPECT_THAT(folder.error(), HasSubstr("nested deeper than 64 levels"));
  }
  folder.write(right + std::string(9 << 20, ' '));
  EXPECT_THAT(folder.error(), HasSubstr("more than the limit of 8388608"));
}

TEST(HfCheckpoint, FilesThatAreAbsentOrNoFiles) {
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) {
    const Folder folder;
    std::filesystem::remove(folder / name);
    EXPECT_THAT(folder.error(), HasSubstr(name));
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    EXPECT_THAT(folder.error(), AllOf(HasSubstr(name), HasSubstr("not a regular file")));
  }
  const Folder folder;
  for (const char* name :
       {"tokenizer_config.json", "generation_config.json", "chat_template.jinja"}) {
    std::filesystem::remove(folder / name);
    EXPECT_EQ(folder.error(), kNoError);
  }
}

TEST(HfTokenizerFiles, TokensThatBeginAndEnd) {
  const Folder folder;
  const auto special = [&] { return read_hf_vocabulary(folder.path(), 0).special; };
  EXPECT_EQ(special().bos, 0);
  EXPECT_EQ(special().eos, 2);
  EXPECT_EQ(special().stops, (std::vector<int32_t>{2}));

  folder.write(json{{"eos_token_id", {1, 2, 0}}}, "generation_config.json");
  EXPECT_EQ(special().stops, (std::vector<int32_t>{1, 2, 0}));
  EXPECT_EQ(special().eos, 2);  // tokenizer_config.json's
  const auto tokenizer = open_tokenizer(folder.path());
  for (const int32_t id : {0, 1, 2}) EXPECT_TRUE(tokenizer->vocabulary().ends_generation(id));
  EXPECT_FALSE(tokenizer->vocabulary().ends_generation(3));

  folder.write(json{{"eos_token", {{"content", "<|im_start|>"}, {"lstrip", false}}}},
               "tokenizer_config.json");
  EXPECT_EQ(special().eos, 1);
  EXPECT_EQ(special().bos, std::nullopt);
  std::filesystem::remove(folder / "tokenizer_config.json");
  EXPECT_EQ(special().eos, 1);  // the first of generation_config.json
  std::filesystem::remove(folder / "generation_config.json");
  EXPECT_EQ(special().eos, 2);  // config.json's
}

TEST(HfTokenizerFiles, NamesFileAndFieldOfWhatIsWrong) {
  const Folder folder;
  for (const char* value : {"-1", "280", "2147483648", "9223372036854775808", "\"2\"", "[2,280]",
                            "[\"2\"]", "1.5", "{}"}) {
    folder.write(json{{"eos_token_id", json::parse(value)}}, "generation_config.json");
    EXPECT_THAT(folder.error(), HasSubstr("generation_config.json: eos_token_id: ")) << value;
  }
  std::filesystem::remove(folder / "generation_config.json");
  for (const char* value :
       {"1", "[]", "\"absent\"", "{\"content\":1}", "{\"content\":\"absent\"}"}) {
    folder.write(json{{"bos_token", json::parse(value)}}, "tokenizer_config.json");
    EXPECT_THAT(folder.error(), HasSubstr("tokenizer_config.json: bos_token")) << value;
  }
  folder.write(json{{"eos_token", json::object()}}, "tokenizer_config.json");
  EXPECT_THAT(folder.error(), HasSubstr("tokenizer_config.json: eos_token.content is missing"));
}

TEST(HfTokenizerFiles, RowsWithoutATokenGetUnusedOnes) {
  const Folder folder;
  const text::VocabularyData data = read_hf_vocabulary(folder.path(), 283);
  ASSERT_EQ(data.tokens.size(), 283u);
  for (size_t id = 280; id < 283; ++id) EXPECT_EQ(data.types[id], text::TokenType::kUnused);
  EXPECT_NE(data.types[279], text::TokenType::kUnused);
}

TEST(HfTokenizerFiles, ChatTemplates) {
  const Folder folder;
  const auto found = [&] { return read_hf_chat_template(folder.path()); };
  folder.write(json{{"chat_template", "other"}}, "tokenizer_config.json");
  EXPECT_THAT(found(), HasSubstr("<|im_start|>"));  // the file comes first
  std::filesystem::remove(folder / "chat_template.jinja");
  EXPECT_EQ(found(), "other");
  folder.write(json{{"chat_template",
                     {{{"name", "tool_use"}, {"template", "tools"}},
                      {{"name", "default"}, {"template", "plain"}}}}},
               "tokenizer_config.json");
  EXPECT_EQ(found(), "plain");
  folder.write(json{{"chat_template", {{{"name", "tool_use"}, {"template", "tools"}}}}},
               "tokenizer_config.json");
  EXPECT_THAT(folder.error(ErrorKind::kUnsupported), HasSubstr("is named 'default'"));
  for (const char* value : {"1", "{}", "[1]", "[{\"name\":1}]", "[{\"name\":\"default\"}]"}) {
    folder.write(json{{"chat_template", json::parse(value)}}, "tokenizer_config.json");
    EXPECT_THAT(folder.error(), HasSubstr("tokenizer_config.json: chat_template")) << value;
  }
  folder.write(json::object(), "tokenizer_config.json");
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace adze::checkpoint
