// A tokenizer's vocabulary, in memory as views into one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_table.h"
#include "text/tokenizer/pre_tokenizer_rules.h"

namespace adze::text {

using TokenId = int32_t;

enum class TokenType : uint8_t {
  kNormal,
  kUnknown,
  kControl,      // marks structure (begin, end, roles); never made from plain text
  kUserDefined,  // an added token that plain text may contain, matched before anything else
  kUnused,
  kByte,
};

// Added beside what was trained, and spelled plainly.
inline bool is_added(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined ||
         type == TokenType::kUnknown;
}

// Ids with a part of their own to play. Absent ones are empty.
struct SpecialIds {
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;  // end of turn
  std::optional<TokenId> eom;  // end of message
  std::optional<TokenId> unknown;
  std::optional<TokenId> padding;
  std::vector<TokenId> stops;  // further ones that end an answer
};

// Where a blank is put before plain text, so that a first word is spelled like the others.
enum class SpacePrefix : uint8_t {
  kNever,
  kFirst,  // where the text does not begin with an added token
  kEvery,  // behind each added token too
};

// How the text of an added token is found, where that differs from the usual: anywhere, in the text
// as it was before normalization. The names are those of HF's `tokenizers`.
struct AddedTokenRules {
  bool left_strip = false;    // takes the blanks before it along
  bool right_strip = false;   // … behind it
  bool single_word = false;   // not inside a word
  bool after_others = false;  // looked for in what those without this leave
};

// What a checkpoint says about its tokenizer, whatever its format.
struct VocabularyData {
  std::string model;  // kind: "gpt2" is byte-level BPE, "llama" SentencePiece's BPE
  PreTokenizerRules pre_tokenizer;
  StringTable tokens;            // texts as the checkpoint spells them ("Ġthe"), by id
  std::vector<TokenType> types;  // by id; empty: all normal
  std::map<TokenId, AddedTokenRules> added_rules;  // of added tokens; absent: none
  std::vector<float> scores;                       // by id; empty where the kind has none
  // BPE: "left right", best first. SentencePiece's BPE may have scores instead: then the merge with
  // the best score of its result comes first.
  StringTable merges;
  SpecialIds special;
  bool add_bos = false;  // encode() begins with bos where specials are asked for
  bool add_eos = false;  // … and ends with eos
  SpacePrefix space_prefix = SpacePrefix::kNever;
  bool space_prefix_once = false;  // none before a text that begins with a blank
  bool fuse_unknown = true;        // SentencePiece: a run of unknown characters is one token
};

// What SentencePiece spells a blank as: U+2581.
inline constexpr std::string_view kSentencePieceBlank = "\xe2\x96\x81";

// A token longer than this is refused; real ones have at most a few hundred bytes.
inline constexpr size_t kMaxTokenBytes = 64 << 10;

// Immutable, hence safe to use from several threads.
class Vocabulary {
 public:
  // Throws Error{kInvalidInput}: no tokens or more than 2³¹ − 1, lengths of the arrays that differ,
  // a token above kMaxTokenBytes, a score that is not a number, a special id out of range, add_bos
  // without a bos (or add_eos without an eos).
  explicit Vocabulary(VocabularyData data);

  int32_t size() const { return static_cast<int32_t>(data_.tokens.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  // As the checkpoint spells it. `id` must be in range.
  std::string_view text(TokenId id) const { return data_.tokens[static_cast<size_t>(id)]; }
  TokenType type(TokenId id) const {
    return data_.types.empty() ? TokenType::kNormal : data_.types[static_cast<size_t>(id)];
  }
  bool is_control(TokenId id) const { return type(id) == TokenType::kControl; }
  // The lowest id whose text is exactly this.
  std::optional<TokenId> find(std::string_view text) const;

  const std::string& model() const { return data_.model; }
  const PreTokenizerRules& pre_tokenizer() const { return data_.pre_tokenizer; }
  const StringTable& merges() const { return data_.merges; }
  const std::vector<float>& scores() const { return data_.scores; }
  const SpecialIds& special() const { return data_.special; }
  bool add_bos() const { return data_.add_bos; }
  bool add_eos() const { return data_.add_eos; }
  SpacePrefix space_prefix() const { return data_.space_prefix; }
  bool space_prefix_once() const { return data_.space_prefix_once; }
  bool fuse_unknown() const { return data_.fuse_unknown; }
  AddedTokenRules added_rules(TokenId id) const {
    const auto found = data_.added_rules.find(id);
    return found == data_.added_rules.end() ? AddedTokenRules{} : found->second;
  }
  // Generation ends with eos, eot, eom or one of the stops.
  bool ends_generation(TokenId id) const;

 private:
  struct Slot {
    uint32_t high = 0;  // half of the text's hash
    TokenId id = -1;    // −1: free
  };
  uint64_t hash_of(std::string_view text) const;
  // Where the text is, or the free slot where it would be.
  size_t slot_of(std::string_view wanted, uint64_t hash) const;

  VocabularyData data_;
  uint64_t hash_base_;       // secret, so that no file can choose texts that collide
  std::vector<Slot> slots_;  // open addressing with linear probing, a power of two
};

}  // namespace adze::text
