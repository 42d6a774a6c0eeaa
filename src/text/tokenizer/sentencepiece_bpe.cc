#include "text/tokenizer/sentencepiece_bpe.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/unicode.h"
#include "text/tokenizer/word_cache.h"

namespace adze::text {
namespace {

constexpr uint32_t kBlankCharacter = 0x2581;
// Bytes that are not UTF-8 count as characters from here on.
constexpr uint32_t kInvalidBytes = 0x110000;
// Every split of a token is looked up; real tokens have at most some fifty bytes.
constexpr size_t kMaxPieceBytes = 1024;

// May merges make the token?
bool is_piece(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined;
}

// What `rest`, which is not empty, begins with.
Character next_character(std::string_view rest) {
  const auto byte = static_cast<uint8_t>(rest[0]);
  if (byte < 0x80) return {byte, 1};
  if (utf8_step(rest).status != Utf8Status::kValid) return {kInvalidBytes + byte, 1};
  return decode_utf8(rest, 0);
}

// The byte of "<0x0A>".
std::optional<uint8_t> byte_of_spelling(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  if (error != std::errc() || end != text.data() + 5) return std::nullopt;
  return byte;
}

// The text with blanks for what spells them.
std::string with_blanks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool blank = text.starts_with(kSentencePieceBlank);
    out += blank ? ' ' : text[0];
    text.remove_prefix(blank ? kSentencePieceBlank.size() : 1);
  }
  return out;
}

// Equal scores get equal ranks, higher ones lower ranks.
std::vector<uint32_t> ranks_by_score(const std::vector<float>& scores) {
  std::vector<float> sorted = scores;
  std::ranges::sort(sorted, std::greater<>());
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  std::vector<uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const float score : scores) {
    const auto found = std::ranges::lower_bound(sorted, score, std::greater<>());
    ranks.push_back(static_cast<uint32_t>(found - sorted.begin()));
  }
  return ranks;
}

// `symbol_of` maps a text to its symbol, −1 where it has none.
template <class SymbolOf>
std::vector<Merge> scored_merges(const Vocabulary& vocabulary, const SymbolOf& symbol_of) {
  const std::vector<uint32_t> ranks = ranks_by_score(vocabulary.scores());
  std::vector<Merge> merges;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(id);
    if (!is_piece(vocabulary.type(id)) || vocabulary.find(text) != id) continue;
    if (text.size() > kMaxPieceBytes) {
      throw_unsupported("vocabulary: token {} has {} bytes, more than {}", id, text.size(),
                        kMaxPieceBytes);
    }
    for (size_t split = 0; split < text.size();) {
      split += next_character(text.substr(split)).length;
      if (split == text.size()) break;
      const TokenId left = symbol_of(text.substr(0, split));
      if (left < 0) continue;
      const TokenId right = symbol_of(text.substr(split));
      if (right >= 0) merges.push_back({left, right, id, ranks[static_cast<size_t>(id)]});
    }
  }
  return merges;
}

}  // namespace

class SentencePieceBpe::CharacterEncoder final : public Encoder {
 public:
  CharacterEncoder(const SentencePieceBpe& tokenizer, size_t bytes)
      : tokenizer_(tokenizer), cache_(bytes) {}

  void encode(std::string_view text, std::vector<TokenId>& out) override {
    first_ = out.size();
    size_t begin = 0;  // of the word at hand: a stretch that no merge goes beyond
    uint32_t previous = kInvalidBytes;
    for (size_t position = 0; position < text.size();) {
      Character character = next_character(text.substr(position));
      if (character.codepoint == ' ') character.codepoint = kBlankCharacter;
      const bool joins = tokenizer_.joints_.may_contain(previous, character.codepoint) &&
                         !(tokenizer_.splits_at_blanks_ && character.codepoint == kBlankCharacter);
      if (!joins && begin < position) {
        encode_word(text.substr(begin, position - begin), out);
        begin = position;
      }
      previous = character.codepoint;
      position += character.length;
    }
    if (begin < text.size()) encode_word(text.substr(begin), out);
  }

 private:
  void encode_word(std::string_view word, std::vector<TokenId>& out) {
    tokens_.clear();
    if (!cache_.get(word, tokens_)) {
      merge(word);
      cache_.put(word, tokens_);
    }
    const auto unknown = tokenizer_.vocabulary().special().unknown;
    for (const TokenId id : tokens_) {
      const bool again = id == unknown && out.size() > first_ && out.back() == id;
      if (!again || !tokenizer_.vocabulary().fuse_unknown()) out.push_back(id);
    }
  }

  // The word's tokens, to tokens_.
  void merge(std::string_view word) {
    symbols_.clear();
    while (!word.empty()) {
      Character character = next_character(word);
      word.remove_prefix(character.length);
      if (character.codepoint == ' ') character.codepoint = kBlankCharacter;
      const TokenId* symbol = tokenizer_.characters_.find(character.codepoint);
      if (symbol != nullptr) {
        symbols_.push_back(*symbol);
      } else {
        flush();
        stand_in(character.codepoint);
      }
    }
    flush();
  }

  void flush() {
    tokenizer_.merges_->apply(symbols_);
    for (const TokenId symbol : symbols_) {
      const TokenId tokens = tokenizer_.vocabulary().size();
      if (symbol < tokens) {
        tokens_.push_back(symbol);
      } else {
        stand_in(tokenizer_.tokenless_[static_cast<size_t>(symbol - tokens)]);
      }
    }
    symbols_.clear();
  }

  // What stands for a character that has no token.
  void stand_in(uint32_t codepoint) {
    const size_t before = tokens_.size();
    const std::string bytes = codepoint < kInvalidBytes
                                  ? encode_utf8(codepoint)
                                  : std::string(1, static_cast<char>(codepoint - kInvalidBytes));
    for (const char byte : bytes) {
      const TokenId id = tokenizer_.byte_ids_[static_cast<uint8_t>(byte)];
      if (id >= 0) tokens_.push_back(id);
    }
    if (tokens_.size() == before + bytes.size()) return;
    tokens_.resize(before);
    if (const auto unknown = tokenizer_.vocabulary().special().unknown) tokens_.push_back(*unknown);
  }

  const SentencePieceBpe& tokenizer_;
  WordCache cache_;
  std::vector<TokenId> symbols_;
  std::vector<TokenId> tokens_;
  size_t first_ = 0;  // of the ids in `out` that this text gave
};

SentencePieceBpe::SentencePieceBpe(VocabularyData data)
    : BpeTokenizer(std::move(data)), joints_(static_cast<size_t>(vocabulary().size())) {
  const Vocabulary& tokens = vocabulary();
  for (const SplitRule split : tokens.pre_tokenizer().splits) {
    if (split != SplitRule::kBlanksWithNext) {
      throw_unsupported("tokenizer: splits other than at blanks with SentencePiece");
    }
    splits_at_blanks_ = true;
  }
  if (tokens.pre_tokenizer().ignores_merges || tokens.pre_tokenizer().normalizes_nfc) {
    throw_unsupported("tokenizer: normalization form C and ignored merges with SentencePiece");
  }
  byte_ids_.fill(-1);
  for (TokenId id = 0; id < tokens.size(); ++id) add_token(id);
  // After all tokens, so that a character's own token has been seen.
  for (TokenId id = 0; id < tokens.size(); ++id) {
    if (is_piece(tokens.type(id))) add_characters(tokens.text(id));
  }
  const auto symbol_of = [&](std::string_view text) {
    const auto id = tokens.find(text);
    if (id && is_piece(tokens.type(*id))) return *id;
    const Character character = next_character(text);
    const TokenId* symbol =
        character.length == text.size() ? characters_.find(character.codepoint) : nullptr;
    return symbol == nullptr ? -1 : *symbol;
  };
  const std::vector<Merge> merges = tokens.merges().empty() && !tokens.scores().empty()
                                        ? scored_merges(tokens, symbol_of)
                                        : listed_merges(tokens);
  for (const Merge& merge : merges) add_joints(tokens.text(merge.result));
  merges_.emplace(merges);
}

void SentencePieceBpe::add_token(TokenId id) {
  const std::string_view text = vocabulary().text(id);
  const TokenType type = vocabulary().type(id);
  if (type == TokenType::kByte) {
    const auto byte = byte_of_spelling(text);
    if (!byte) throw_invalid("vocabulary: byte token {} is spelled \"{}\"", id, printable(text));
    if (byte_ids_[*byte] < 0) byte_ids_[*byte] = id;
    const auto character = static_cast<char>(*byte);
    bytes_.add({&character, 1});
    return;
  }
  if (is_piece(type) && !text.empty()) {
    const Character character = next_character(text);
    const bool single = character.length == text.size() && vocabulary().find(text) == id;
    if (single) characters_.set(character.codepoint, id);
  }
  bytes_.add(type == TokenType::kControl ? std::string(text) : with_blanks(text));
}

void SentencePieceBpe::add_characters(std::string_view text) {
  while (!text.empty()) {
    const Character character = next_character(text);
    text.remove_prefix(character.length);
    if (characters_.find(character.codepoint) != nullptr) continue;
    characters_.set(character.codepoint,
                    vocabulary().size() + static_cast<TokenId>(tokenless_.size()));
    tokenless_.push_back(character.codepoint);
  }
}

void SentencePieceBpe::add_joints(std::string_view text) {
  Character previous = next_character(text);
  text.remove_prefix(previous.length);
  while (!text.empty()) {
    const Character next = next_character(text);
    joints_.add(previous.codepoint, next.codepoint);
    text.remove_prefix(next.length);
    previous = next;
  }
}

std::unique_ptr<BpeTokenizer::Encoder> SentencePieceBpe::make_encoder(size_t bytes) const {
  return std::make_unique<CharacterEncoder>(*this, bytes);
}

}  // namespace adze::text
