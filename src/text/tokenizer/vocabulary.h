// A tokenizer's vocabulary, in memory as views into one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_table.h"

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
};

// What a checkpoint says about its tokenizer, whatever its format.
struct VocabularyData {
  std::string model;             // kind of tokenizer: "gpt2" is byte-level BPE
  std::string pre_tokenizer;     // name of the splitting rules: "smollm"
  StringTable tokens;            // texts as the checkpoint spells them ("Ġthe"), by id
  std::vector<TokenType> types;  // by id; empty: all normal
  std::vector<float> scores;     // by id; empty where the kind has none
  StringTable merges;            // BPE: "left right", best first
  SpecialIds special;
  bool add_bos = false;           // encode() begins with bos where specials are asked for
  bool add_eos = false;           // … and ends with eos
  bool add_space_prefix = false;  // a blank is put before the text
};

// A token longer than this is refused; real ones have at most a few hundred bytes.
inline constexpr size_t kMaxTokenBytes = 64 << 10;

// Immutable, hence safe to use from several threads.
class Vocabulary {
 public:
  // Throws Error{kInvalidInput}: no tokens or more than 2³¹ − 1, lengths of the arrays that differ,
  // a token above kMaxTokenBytes, a special id out of range, add_bos without a bos (or add_eos
  // without an eos).
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
  const std::string& pre_tokenizer() const { return data_.pre_tokenizer; }
  const StringTable& merges() const { return data_.merges; }
  const std::vector<float>& scores() const { return data_.scores; }
  const SpecialIds& special() const { return data_.special; }
  bool add_bos() const { return data_.add_bos; }
  bool add_eos() const { return data_.add_eos; }
  bool add_space_prefix() const { return data_.add_space_prefix; }
  // Generation ends with eos, eot or eom.
  bool ends_generation(TokenId id) const {
    return id == data_.special.eos || id == data_.special.eot || id == data_.special.eom;
  }

 private:
  VocabularyData data_;
  std::vector<TokenId> slots_;  // open addressing with linear probing, a power of two; −1: free
};

}  // namespace adze::text
