// Finding the texts of added tokens inside a text.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace adze::text {

// Immutable, hence safe to use from several threads.
class SpecialTokenMatcher {
 public:
  // For `ids` of `vocabulary`, which must outlive this. Empty texts are left out.
  SpecialTokenMatcher(const Vocabulary& vocabulary, const std::vector<TokenId>& ids);

  struct Match {
    size_t begin;
    size_t length;
    TokenId id;
  };
  // The leftmost occurrence at or after `from`, the longest of several there.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  struct Entry {
    std::string_view text;
    TokenId id;
  };
  std::optional<Match> match_at(std::string_view text, size_t begin) const;

  std::vector<Entry> entries_;              // sorted by text: read as a trie by narrowing a range
  std::array<bool, 256> first_bytes_ = {};  // with which an entry begins
};

}  // namespace adze::text
