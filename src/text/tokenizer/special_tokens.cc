#include "text/tokenizer/special_tokens.h"

#include <algorithm>
#include <cstdint>

namespace adze::text {

SpecialTokenMatcher::SpecialTokenMatcher(const Vocabulary& vocabulary,
                                         const std::vector<TokenId>& ids) {
  for (const TokenId id : ids) {
    const std::string_view text = vocabulary.text(id);
    if (text.empty()) continue;
    entries_.push_back({text, id});
    first_bytes_[static_cast<uint8_t>(text[0])] = true;
  }
  std::ranges::stable_sort(entries_, {}, &Entry::text);
}

std::optional<SpecialTokenMatcher::Match> SpecialTokenMatcher::find(std::string_view text,
                                                                    size_t from) const {
  if (entries_.empty()) return std::nullopt;
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!first_bytes_[static_cast<uint8_t>(text[begin])]) continue;
    if (const auto match = match_at(text, begin)) return match;
  }
  return std::nullopt;
}

std::optional<SpecialTokenMatcher::Match> SpecialTokenMatcher::match_at(std::string_view text,
                                                                        size_t begin) const {
  std::optional<Match> longest;
  // [low, high): the entries that begin with the `depth` bytes read so far.
  auto low = entries_.begin();
  auto high = entries_.end();
  for (size_t depth = 0; low != high; ++depth) {
    // The shortest sorts first: the entry that is the bytes read, if there is one.
    if (low->text.size() == depth) {
      longest = Match{begin, depth, low->id};
      while (low != high && low->text.size() == depth) ++low;
    }
    if (begin + depth == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[begin + depth]);
    const auto byte_at = [depth](const Entry& entry) {
      return static_cast<uint8_t>(entry.text[depth]);
    };
    const auto range = std::ranges::equal_range(low, high, byte, {}, byte_at);
    low = range.begin();
    high = range.end();
  }
  return longest;
}

}  // namespace adze::text
