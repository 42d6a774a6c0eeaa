// Byte-pair encoding's merges and their application to one word.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace adze::text {

// Immutable, hence safe to use from several threads.
class MergeTable {
 public:
  // From the vocabulary's merges, best first; of equal ones the last counts. As in the original (HF
  // tokenizers) a merge whose parts or result are no tokens throws Error{kInvalidInput}, and so
  // does an empty part.
  explicit MergeTable(const Vocabulary& vocabulary);

  // Joins neighbours until no merge applies: always the pair with the best rank, leftmost first
  // (Sennrich et al., "Neural machine translation of rare words with subword units", 2016). n
  // symbols (below 2³²) cost O(n log n). Returns the number of pairs looked up or taken up again, a
  // measure of the work for tests.
  uint64_t apply(std::vector<TokenId>& symbols) const;

 private:
  struct Slot {
    TokenId left = -1;  // −1: free
    TokenId right = 0;
    uint32_t rank = 0;
  };

  size_t slot_of(TokenId left, TokenId right) const;
  void insert(TokenId left, TokenId right, uint32_t rank);
  // kNoRank where the pair has no merge.
  uint32_t rank_of(TokenId left, TokenId right) const;
  uint64_t apply_short(std::vector<TokenId>& symbols) const;
  uint64_t apply_long(std::vector<TokenId>& symbols) const;

  static constexpr uint32_t kNoRank = UINT32_MAX;

  uint64_t multiplier_;           // of the hash
  std::vector<Slot> slots_;       // open addressing with linear probing, a power of two
  std::vector<TokenId> results_;  // by rank
};

}  // namespace adze::text
