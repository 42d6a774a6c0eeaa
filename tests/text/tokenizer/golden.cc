#include "golden.h"

#include "base/file.h"

namespace adze::text {

const nlohmann::json& small_golden() {
  static const nlohmann::json golden =
      nlohmann::json::parse(read_text_file(ADZE_SOURCE_DIR "/tests/golden/tokenizer_small.json"));
  return golden;
}

VocabularyData small_vocabulary(const std::string& pre_tokenizer) {
  VocabularyData data;
  data.model = "gpt2";
  data.pre_tokenizer = pre_tokenizer_named(pre_tokenizer).value();
  for (const auto& token : small_golden()["tokens"]) data.tokens.add(token.get<std::string>());
  for (const auto& merge : small_golden()["merges"]) data.merges.add(merge.get<std::string>());
  data.types.assign(data.tokens.size(), TokenType::kNormal);
  const size_t control = small_golden()["control"].size();
  const size_t user_defined = small_golden()["user_defined"].size();
  for (size_t i = 0; i < control; ++i) data.types[i] = TokenType::kControl;
  for (size_t i = control; i < control + user_defined; ++i) {
    data.types[i] = TokenType::kUserDefined;
  }
  return data;
}

}  // namespace adze::text
