#include "text/tokenizer/tokenizer.h"

#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_level_bpe.h"
#include "text/tokenizer/sentencepiece_bpe.h"

namespace adze::text {

std::string Tokenizer::decode_bytes(std::span<const TokenId> ids, bool skip_special) const {
  std::string bytes;
  bool first = vocabulary().space_prefix() != SpacePrefix::kNever;
  for (const TokenId id : ids) {
    std::string_view token = token_bytes(id);
    const bool control = vocabulary().is_control(id);
    if (skip_special && control) continue;
    if (first && !control) {
      if (token.starts_with(' ')) token.remove_prefix(1);
      first = false;
    }
    bytes += token;
  }
  return bytes;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  return replace_invalid_utf8(decode_bytes(ids, skip_special));
}

std::unique_ptr<const Tokenizer> make_tokenizer(VocabularyData data) {
  if (data.model == "gpt2") return std::make_unique<ByteLevelBpe>(std::move(data));
  if (data.model == "llama") return std::make_unique<SentencePieceBpe>(std::move(data));
  throw_unsupported("tokenizer: model \"{}\" is not supported", printable(data.model));
}

}  // namespace adze::text
