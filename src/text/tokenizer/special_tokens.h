// Finding the texts of added tokens inside a text.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/byte_range.h"
#include "text/tokenizer/vocabulary.h"

namespace adze::text {

// Immutable, hence safe to use from several threads.
class SpecialTokenMatcher {
 public:
  // For those added tokens of `vocabulary`, which must outlive this, whose rules say `after_others`
  // or do not. Empty texts are left out. Throws Error{kUnsupported} for very long ones.
  SpecialTokenMatcher(const Vocabulary& vocabulary, bool after_others);

  bool empty() const { return entries_.empty(); }

  struct Match {
    ByteRange range;  // with the blanks that the token takes along
    TokenId id;
  };
  // The leftmost occurrence in `part` of `text` at or after `from`, the longest of several there.
  // What touches one of the `literal` ranges (sorted, not overlapping) is found only where plain
  // text may contain it. Beyond `part` nothing is looked at.
  std::optional<Match> find(std::string_view text, ByteRange part, size_t from,
                            std::span<const ByteRange> literal) const;

 private:
  struct Entry {
    std::string_view text;
    TokenId id;
    bool in_plain_text;  // user-defined
    AddedTokenRules rules;
  };
  // Tokens that plain text may not contain end at `limit` at the latest. `text` ends with the part.
  const Entry* match_at(std::string_view text, size_t begin, size_t limit) const;

  std::vector<Entry> entries_;              // sorted by text: read as a trie by narrowing a range
  std::array<bool, 256> first_bytes_ = {};  // with which an entry begins
};

}  // namespace adze::text
