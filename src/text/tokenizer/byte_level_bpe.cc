#include "text/tokenizer/byte_level_bpe.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/word_cache.h"

namespace adze::text {

class ByteLevelBpe::WordEncoder final : public Encoder {
 public:
  WordEncoder(const ByteLevelBpe& tokenizer, size_t bytes)
      : tokenizer_(tokenizer), rules_(tokenizer.vocabulary().pre_tokenizer()), cache_(bytes) {}

  void encode(std::string_view text, std::vector<TokenId>& out) override {
    while (!text.empty()) {
      const size_t valid = utf8_valid_prefix(text);
      if (valid > 0) encode_valid(text.substr(0, valid), out);
      text.remove_prefix(valid);
      size_t invalid = 0;
      while (invalid < text.size()) {
        const Utf8Step step = utf8_step(text.substr(invalid));
        if (step.status == Utf8Status::kValid) break;
        invalid += step.length;
      }
      if (invalid > 0) encode_word(text.substr(0, invalid), out);
      text.remove_prefix(invalid);
    }
  }

 private:
  void encode_valid(std::string_view text, std::vector<TokenId>& out) {
    std::string normalized;
    if (rules_.normalizes_nfc) {
      normalized = normalize_nfc(text);
      text = normalized;
    }
    tokenizer_.pre_tokenizer_.split(text, state_,
                                    [&](std::string_view word) { encode_word(word, out); });
  }

  void encode_word(std::string_view word, std::vector<TokenId>& out) {
    if (cache_.get(word, out)) return;
    symbols_.clear();
    const auto whole = rules_.ignores_merges ? whole_word(word) : std::nullopt;
    if (whole) {
      symbols_.push_back(*whole);
    } else {
      for (const char byte : word) {
        const TokenId id = tokenizer_.byte_ids_[static_cast<uint8_t>(byte)];
        if (id >= 0) symbols_.push_back(id);
      }
      tokenizer_.merges_.apply(symbols_);
    }
    cache_.put(word, symbols_);
    out.insert(out.end(), symbols_.begin(), symbols_.end());
  }

  std::optional<TokenId> whole_word(std::string_view word) {
    if (word.size() > kMaxTokenBytes) return std::nullopt;
    spelling_.clear();
    append_byte_level(word, spelling_);
    const auto id = tokenizer_.vocabulary().find(spelling_);
    // The text of an added token in plain text is text.
    return id && !is_added(tokenizer_.vocabulary().type(*id)) ? id : std::nullopt;
  }

  const ByteLevelBpe& tokenizer_;
  const PreTokenizerRules& rules_;
  PreTokenizer::State state_;
  WordCache cache_;
  std::vector<TokenId> symbols_;  // of the word at hand
  std::string spelling_;
};

ByteLevelBpe::ByteLevelBpe(VocabularyData data)
    : BpeTokenizer(std::move(data)),
      pre_tokenizer_(vocabulary().pre_tokenizer().splits),
      merges_(listed_merges(vocabulary())) {
  const Vocabulary& tokens = vocabulary();
  for (TokenId id = 0; id < tokens.size(); ++id) {
    const std::string_view text = tokens.text(id);
    // Added tokens are spelled plainly; so are those few others that have a character which spells
    // no byte.
    const auto bytes = is_added(tokens.type(id)) ? std::nullopt : decode_byte_level(text);
    bytes_.add(bytes ? *bytes : text);
  }
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto id = tokens.find(byte_level_spelling(static_cast<uint8_t>(byte)));
    byte_ids_[byte] = id ? *id : -1;
  }
}

std::unique_ptr<BpeTokenizer::Encoder> ByteLevelBpe::make_encoder(size_t bytes) const {
  return std::make_unique<WordEncoder>(*this, bytes);
}

}  // namespace adze::text
