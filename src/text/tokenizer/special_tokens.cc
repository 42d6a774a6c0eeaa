#include "text/tokenizer/special_tokens.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace adze::text {
namespace {

// Each byte of a text may be compared with all of the longest token.
constexpr size_t kMaxAddedTokenBytes = 256;

}  // namespace

SpecialTokenMatcher::SpecialTokenMatcher(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(id);
    if (!is_added(vocabulary.type(id)) || text.empty()) continue;
    if (text.size() > kMaxAddedTokenBytes) {
      throw_unsupported("vocabulary: added token {} has {} bytes, more than {}", id, text.size(),
                        kMaxAddedTokenBytes);
    }
    entries_.push_back({text, id, vocabulary.type(id) == TokenType::kUserDefined});
    first_bytes_[static_cast<uint8_t>(text[0])] = true;
  }
  std::ranges::stable_sort(entries_, {}, &Entry::text);
}

std::optional<SpecialTokenMatcher::Match> SpecialTokenMatcher::find(
    std::string_view text, size_t from, std::span<const ByteRange> literal) const {
  if (entries_.empty()) return std::nullopt;
  auto next = std::ranges::upper_bound(literal, from, {}, &ByteRange::end);
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!first_bytes_[static_cast<uint8_t>(text[begin])]) continue;
    while (next != literal.end() && next->end <= begin) ++next;
    const size_t limit = next == literal.end() ? text.size() : next->begin;
    if (const auto match = match_at(text, begin, limit)) return match;
  }
  return std::nullopt;
}

std::optional<SpecialTokenMatcher::Match> SpecialTokenMatcher::match_at(std::string_view text,
                                                                        size_t begin,
                                                                        size_t limit) const {
  std::optional<Match> longest;
  // [low, high): the entries that begin with the `depth` bytes read so far.
  auto low = entries_.begin();
  auto high = entries_.end();
  for (size_t depth = 0; low != high; ++depth) {
    // The shortest sort first: those that are the bytes read, if there are any, by ascending id.
    bool found = false;
    for (; low != high && low->text.size() == depth; ++low) {
      if (found || !(low->in_plain_text || begin + depth <= limit)) continue;
      longest = Match{begin, depth, low->id};
      found = true;
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
