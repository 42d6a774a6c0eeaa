// Byte-pair encoding's merges and their application to one word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer/flat_map.h"
#include "text/tokenizer/vocabulary.h"

namespace adze::text {

// Two neighbours that become one symbol. Symbols are token ids, or what else the maker of the table
// numbers.
struct Merge {
  TokenId left;
  TokenId right;
  TokenId result;
  uint32_t rank;  // low ones first; several may be equal. Not UINT32_MAX
};

// The merges that the vocabulary lists. As in the original (HF tokenizers) a merge whose parts or
// result are no tokens throws Error{kInvalidInput}, and so does an empty part.
std::vector<Merge> listed_merges(const Vocabulary& vocabulary);

// Immutable, hence safe to use from several threads.
class MergeTable {
 public:
  // Of those with equal parts the last counts. A result must have the length of its parts together
  // in some measure that is positive for every symbol: then no merge can go on for ever.
  explicit MergeTable(std::span<const Merge> merges);

  // Joins neighbours until no merge applies: always the pair with the best rank, leftmost first
  // (Sennrich et al., "Neural machine translation of rare words with subword units", 2016). n
  // symbols (below 2³²) cost O(n log n). Returns the number of pairs looked up or taken up again, a
  // measure of the work for tests.
  uint64_t apply(std::vector<TokenId>& symbols) const;

 private:
  struct Found {
    uint32_t rank = UINT32_MAX;  // the default: the pair has no merge
    TokenId result = 0;
  };
  Found find(TokenId left, TokenId right) const;
  uint64_t apply_short(std::vector<TokenId>& symbols) const;
  uint64_t apply_long(std::vector<TokenId>& symbols) const;

  FlatMap<Found> merges_;
};

}  // namespace adze::text
