// Models whose files are well-formed or nearly so and whose contents are not: every one is refused
// with an Error or runs; nothing else may happen. (Files that are broken as files:
// tests/formats/gguf_hardening_test.cc.)
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "engine/engine.h"
#include "formats/gguf/file.h"
#include "tiny_model.h"

namespace adze::engine {
namespace {

constexpr TinyModelSpec kSmall{.layers = 1, .hidden = 32, .heads = 2, .kv_heads = 1, .ffn = 32};

std::string bytes_of_small_model() {
  const std::string path = testing::TempDir() + "tiny_whole.gguf";
  write_tiny_model(path, kSmall);
  return read_text_file(path);
}

// Loads the model and generates two tokens. Returns the message of the Error, "" where there was
// none.
std::string outcome(const std::string& bytes) {
  const std::string path = testing::TempDir() + "tiny_broken.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    ModelOptions options;
    options.threads = 1;
    options.isa = Isa::kReference;
    options.plan.max_rows = 4;
    options.plan.max_sampled = 1;
    options.plan.max_context = 64;
    LoadedModel model(path, options);
    Engine engine(model, {64, 1});
    Request request;
    request.tokens = {1, 2, 3};
    request.max_tokens = 2;
    std::string error;
    Listener listener;
    listener.on_finish = [&](FinishReason, std::string_view, std::string_view why) { error = why; };
    engine.submit(std::move(request), std::move(listener));
    while (engine.step()) {
    }
    return error;
  } catch (const Error& error) {
    return error.what();
  }
}

// Bytes before the first tensor's data.
size_t header_size() {
  const auto file = gguf::File::open(testing::TempDir() + "tiny_whole.gguf");
  return file.tensors().front().offset;
}

// Where the four bytes of a u32 metadata value are.
size_t value_offset(const std::string& bytes, const std::string& key) {
  const size_t at = bytes.find(key);
  EXPECT_NE(at, std::string::npos) << key;
  return at + key.size() + 4;  // the type
}

TEST(BrokenModel, TheSmallModelRuns) { EXPECT_EQ(outcome(bytes_of_small_model()), ""); }

TEST(BrokenModel, AnyByteOfTheHeaderChanged) {
  const std::string whole = bytes_of_small_model();
  const size_t end = header_size();
  std::mt19937 random(3);
  for (size_t at = 0; at < end; at += 1 + random() % 4) {
    std::string broken = whole;
    const uint32_t kind = random() % 4;
    broken[at] = static_cast<char>(kind == 0   ? 0
                                   : kind == 1 ? 0xff
                                   : kind == 2 ? broken[at] ^ 1
                                               : static_cast<int>(random()));
    SCOPED_TRACE(at);
    outcome(broken);
  }
}

TEST(BrokenModel, EveryNumberOfTheConfigurationAtItsBounds) {
  const std::string whole = bytes_of_small_model();
  for (const std::string key :
       {"llama.block_count", "llama.context_length", "llama.embedding_length",
        "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.attention.key_length", "llama.rope.dimension_count", "llama.rope.freq_base",
        "llama.attention.layer_norm_rms_epsilon", "tokenizer.ggml.eos_token_id"}) {
    const size_t at = value_offset(whole, key);
    for (const uint32_t value : {0u, 1u, 3u, 17u, 33u, 0x7fffffffu, 0x80000000u, 0x80000001u,
                                 0xffffffffu, 0x7fc00000u, 0x7f800000u, 0xff800000u}) {
      std::string broken = whole;
      std::memcpy(broken.data() + at, &value, sizeof value);
      const std::string message = outcome(broken);
      SCOPED_TRACE(key + " = " + std::to_string(value));
      // The context may be longer or shorter than it was, a base another, a token the last one.
      const bool may_run = key == "llama.context_length" || key == "llama.rope.freq_base" ||
                           key == "llama.attention.layer_norm_rms_epsilon" ||
                           key == "tokenizer.ggml.eos_token_id" || value == 1;
      if (!may_run) {
        EXPECT_NE(message.find("tiny_broken.gguf"), std::string::npos) << message;
      }
    }
  }
}

TEST(BrokenModel, WeightsThatAreNotFiniteAreReported) {
  const std::string whole = bytes_of_small_model();
  for (const size_t at : {header_size(), whole.size() - 40}) {
    std::string broken = whole;
    // A scale of an embedding (f16), or of a block of the last weight: NaN.
    for (size_t i = at / 2 * 2; i < at + 34; i += 2) std::memcpy(broken.data() + i, "\0\x7e", 2);
    EXPECT_NE(outcome(broken).find("weights may be damaged"), std::string::npos);
  }
}

}  // namespace
}  // namespace adze::engine
