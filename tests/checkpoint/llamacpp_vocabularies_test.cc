// The vocabularies that llama.cpp's sources hold, with the ids that they expect (made by HF's
// tokenizers). ADZE_LLAMACPP_SOURCES names the folder that scripts/fetch_llamacpp_sources prints.
// Skipped without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gguf_vocabulary.h"

namespace adze::checkpoint {
namespace {

using testing::HasSubstr;

const char* const kSupported[] = {"command-r", "deepseek-coder", "deepseek-llm", "falcon",
                                  "gemma-4",   "gpt-2",          "llama-bpe",    "llama-spm",
                                  "mpt",       "phi-3",          "qwen2",        "qwen35",
                                  "refact",    "starcoder"};

class LlamaCppVocabularies : public testing::Test {
 protected:
  void SetUp() override {
    const char* sources = std::getenv("ADZE_LLAMACPP_SOURCES");
    if (sources == nullptr) GTEST_SKIP() << "ADZE_LLAMACPP_SOURCES is not set";
    models_ = std::filesystem::path(sources) / "vendor/llama.cpp/models";
  }
  std::filesystem::path path(const std::string& name, const std::string& extension = "") const {
    return models_ / ("ggml-vocab-" + name + ".gguf" + extension);
  }
  std::filesystem::path models_;
};

class ExpectedIds : public LlamaCppVocabularies, public testing::WithParamInterface<const char*> {};

TEST_P(ExpectedIds, AreReached) {
  const auto tokenizer = open_tokenizer(gguf::File::open(path(GetParam())));
  const std::string texts = read_text_file(path(GetParam(), ".inp"));
  std::istringstream expected(read_text_file(path(GetParam(), ".out")));
  const std::string_view separator = "\n__ggml_vocab_test__\n";
  size_t count = 0;
  std::string line;
  for (size_t begin = 0; std::getline(expected, line); ++count) {
    const size_t end = std::min(texts.find(separator, begin), texts.size());
    const std::string text = texts.substr(begin, end - begin);
    begin = std::min(end + separator.size(), texts.size());
    std::istringstream words(line);
    const std::vector<text::TokenId> ids{std::istream_iterator<text::TokenId>(words), {}};
    EXPECT_EQ(tokenizer->encode(text, {.add_special = false}), ids) << printable(text);
  }
  EXPECT_GE(count, 40u);
}

INSTANTIATE_TEST_SUITE_P(All, ExpectedIds, testing::ValuesIn(kSupported), [](const auto& row) {
  std::string name = row.param;
  std::erase(name, '-');
  return name;
});

TEST_F(LlamaCppVocabularies, AreAllTested) {
  std::set<std::string> names(std::begin(kSupported), std::end(kSupported));
  names.insert("bert-bge");
  for (const auto& entry : std::filesystem::directory_iterator(models_)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".gguf.out")) continue;
    EXPECT_EQ(names.erase(name.substr(11, name.size() - 11 - 9)), 1u) << name;
  }
  EXPECT_TRUE(names.empty()) << *names.begin();
}

TEST_F(LlamaCppVocabularies, OtherKindsAreRefusedByName) {
  const auto message_of = [&](const char* name) -> std::string {
    try {
      open_tokenizer(gguf::File::open(path(name)));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message_of("bert-bge"), HasSubstr("tokenizer.ggml.model \"bert\""));
  EXPECT_THAT(message_of("nomic-bert-moe"), HasSubstr("tokenizer.ggml.model \"t5\""));
  EXPECT_THAT(message_of("gpt-neox"), HasSubstr("tokenizer.ggml.pre is missing"));
  EXPECT_THAT(message_of("aquila"), HasSubstr("tokenizer.ggml.pre is missing"));
}

}  // namespace
}  // namespace adze::checkpoint
