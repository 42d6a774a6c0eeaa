#include "text/tokenizer/tokenizer.h"

#include <utility>

#include "base/error.h"
#include "text/tokenizer/byte_level_bpe.h"
#include "text/tokenizer/detokenizer.h"

namespace adze::text {

std::string Tokenizer::decode_bytes(std::span<const TokenId> ids, bool skip_special) const {
  std::string bytes;
  for (const TokenId id : ids) {
    const std::string_view token = token_bytes(id);
    if (!skip_special || !vocabulary().is_control(id)) bytes += token;
  }
  return bytes;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  StreamingDetokenizer detokenizer(*this, skip_special);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

std::unique_ptr<const Tokenizer> make_tokenizer(VocabularyData data) {
  if (data.model == "gpt2") return std::make_unique<ByteLevelBpe>(std::move(data));
  throw_unsupported("tokenizer: model \"{}\" is not supported", printable(data.model));
}

}  // namespace adze::text
