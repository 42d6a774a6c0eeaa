#include "text/tokenizer/byte_level_bpe.h"

#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/utf8.h"

namespace adze::text {
struct ByteLevelBpe::Work {
  PreTokenizer::State state;
  std::vector<TokenId> symbols;  // of the word at hand
  std::vector<TokenId> out;
};

ByteLevelBpe::ByteLevelBpe(VocabularyData data)
    : vocabulary_(std::move(data)),
      pre_tokenizer_(vocabulary_.pre_tokenizer()),
      merges_(vocabulary_),
      added_(vocabulary_) {
  if (vocabulary_.add_space_prefix()) {
    throw_unsupported("tokenizer: a blank before the text is not supported with byte-level BPE");
  }
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    const std::string_view text = vocabulary_.text(id);
    // Added tokens are spelled plainly; so are those few others that have a character which spells
    // no byte.
    const auto bytes = is_added(vocabulary_.type(id)) ? std::nullopt : decode_byte_level(text);
    bytes_.add(bytes ? *bytes : text);
  }
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto id = vocabulary_.find(byte_level_spelling(static_cast<uint8_t>(byte)));
    byte_ids_[byte] = id ? *id : -1;
  }
}

std::string_view ByteLevelBpe::token_bytes(TokenId id) const {
  if (!vocabulary_.contains(id)) {
    throw_invalid("token id {} is out of range ({} tokens)", id, vocabulary_.size());
  }
  return bytes_[static_cast<size_t>(id)];
}

std::vector<TokenId> ByteLevelBpe::encode(std::string_view text,
                                          const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    throw_exhausted("tokenizer: {} bytes of text, more than the limit of {}", text.size(),
                    kMaxTextBytes);
  }
  Work work;
  std::vector<TokenId>& out = work.out;
  if (options.add_special && vocabulary_.add_bos()) out.push_back(*vocabulary_.special().bos);
  const ByteRange whole{0, text.size()};
  const auto literal = options.parse_special ? options.literal : std::span(&whole, 1);
  size_t position = 0;
  while (const auto match = added_.find(text, position, literal)) {
    encode_plain(text.substr(position, match->begin - position), work);
    out.push_back(match->id);
    position = match->begin + match->length;
  }
  encode_plain(text.substr(position), work);
  if (options.add_special && vocabulary_.add_eos()) out.push_back(*vocabulary_.special().eos);
  return std::move(work.out);
}

void ByteLevelBpe::encode_plain(std::string_view text, Work& work) const {
  while (!text.empty()) {
    const size_t valid = utf8_valid_prefix(text);
    if (valid > 0) encode_valid(text.substr(0, valid), work);
    text.remove_prefix(valid);
    size_t invalid = 0;
    while (invalid < text.size()) {
      const Utf8Step step = utf8_step(text.substr(invalid));
      if (step.status == Utf8Status::kValid) break;
      invalid += step.length;
    }
    if (invalid > 0) encode_word(text.substr(0, invalid), work);
    text.remove_prefix(invalid);
  }
}

void ByteLevelBpe::encode_valid(std::string_view text, Work& work) const {
  std::string normalized;
  if (pre_tokenizer_.normalizes_nfc()) {
    normalized = normalize_nfc(text);
    text = normalized;
  }
  pre_tokenizer_.split(text, work.state, [&](std::string_view word) { encode_word(word, work); });
}

void ByteLevelBpe::encode_word(std::string_view word, Work& work) const {
  if (pre_tokenizer_.ignores_merges()) {
    if (const auto id = whole_word(word)) {
      work.out.push_back(*id);
      return;
    }
  }
  work.symbols.clear();
  for (const char byte : word) {
    const TokenId id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id >= 0) work.symbols.push_back(id);
  }
  merges_.apply(work.symbols);
  work.out.insert(work.out.end(), work.symbols.begin(), work.symbols.end());
}

std::optional<TokenId> ByteLevelBpe::whole_word(std::string_view word) const {
  if (word.size() > kMaxTokenBytes) return std::nullopt;
  std::string spelling;
  append_byte_level(word, spelling);
  const auto id = vocabulary_.find(spelling);
  // The text of an added token in plain text is text.
  return id && !is_added(vocabulary_.type(*id)) ? id : std::nullopt;
}

}  // namespace adze::text
