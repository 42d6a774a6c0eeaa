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
  // For the added tokens of `vocabulary`, which must outlive this. Empty texts are left out.
  explicit SpecialTokenMatcher(const Vocabulary& vocabulary);

  struct Match {
    size_t begin;
    size_t length;
    TokenId id;
  };
  // The leftmost occurrence at or after `from`, the longest of several there. What touches one of
  // the `literal` ranges (sorted, not overlapping) is found only where plain text may contain it.
  std::optional<Match> find(std::string_view text, size_t from,
                            std::span<const ByteRange> literal) const;

 private:
  struct Entry {
    std::string_view text;
    TokenId id;
    bool in_plain_text;  // user-defined
  };
  // Tokens that plain text may not contain end at `limit` at the latest.
  std::optional<Match> match_at(std::string_view text, size_t begin, size_t limit) const;

  std::vector<Entry> entries_;              // sorted by text: read as a trie by narrowing a range
  std::array<bool, 256> first_bytes_ = {};  // with which an entry begins
};

}  // namespace adze::text
