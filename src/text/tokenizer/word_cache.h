// The tokens of words seen before in the same text.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace adze::text {

// Each word has one place, which a later word takes over. Longer words and such with more tokens
// than an entry holds are not kept. Not for several threads at once.
class WordCache {
 public:
  // For texts of about `bytes` bytes: short ones cost no more memory than they need.
  explicit WordCache(size_t bytes)
      : entries_(std::bit_ceil(std::clamp<size_t>(bytes / 8, 16, kMaxEntries))) {}

  // Appends the word's tokens to `out`; false where it is not there.
  bool get(std::string_view word, std::vector<TokenId>& out) const {
    if (word.size() > kMaxBytes) return false;
    const Entry& entry = entries_[place(word)];
    if (entry.length != word.size() ||
        std::memcmp(entry.bytes.data(), word.data(), word.size()) != 0) {
      return false;
    }
    out.insert(out.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    return true;
  }

  void put(std::string_view word, std::span<const TokenId> ids) {
    if (word.empty() || word.size() > kMaxBytes || ids.size() > kMaxTokens) return;
    Entry& entry = entries_[place(word)];
    entry.length = static_cast<uint8_t>(word.size());
    entry.count = static_cast<uint8_t>(ids.size());
    std::memcpy(entry.bytes.data(), word.data(), word.size());
    std::ranges::copy(ids, entry.ids.begin());
  }

 private:
  static constexpr size_t kMaxBytes = 30;
  static constexpr size_t kMaxTokens = 8;
  static constexpr size_t kMaxEntries = size_t{1} << 15;

  struct alignas(64) Entry {
    uint8_t length = 0;  // 0: free
    uint8_t count = 0;
    std::array<char, kMaxBytes> bytes;
    std::array<TokenId, kMaxTokens> ids;
  };
  static_assert(sizeof(Entry) == 64);

  size_t place(std::string_view word) const {
    return std::hash<std::string_view>{}(word) & (entries_.size() - 1);
  }

  std::vector<Entry> entries_;  // a power of two
};

}  // namespace adze::text
