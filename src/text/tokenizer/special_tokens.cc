#include "text/tokenizer/special_tokens.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/unicode.h"

namespace adze::text {
namespace {

// Each byte of a text may be compared with all of the longest token.
constexpr size_t kMaxAddedTokenBytes = 256;

// The character that ends at `end` of `text`; 0 where no valid one does.
Character character_before(std::string_view text, size_t end) {
  for (size_t length = 1; length <= 4 && length <= end; ++length) {
    const std::string_view last = text.substr(end - length, length);
    const Utf8Step step = utf8_step(last);
    if (step.status == Utf8Status::kValid && step.length == length) return decode_utf8(last, 0);
  }
  return {0, 0};
}
Character character_behind(std::string_view text, size_t begin) {
  const std::string_view rest = text.substr(begin);
  if (rest.empty() || utf8_step(rest).status != Utf8Status::kValid) return {0, 0};
  return decode_utf8(rest, 0);
}

bool inside_a_word(std::string_view text, ByteRange part, ByteRange match) {
  text = text.substr(0, part.end);
  return is_word_character(
             character_before(text.substr(part.begin), match.begin - part.begin).codepoint) ||
         is_word_character(character_behind(text, match.end).codepoint);
}

// The match with the blanks that it takes along, of which those before it begin at `from`.
ByteRange with_blanks(std::string_view text, size_t from, ByteRange match,
                      const AddedTokenRules& rules) {
  while (rules.left_strip && match.begin > from) {
    const Character last = character_before(text.substr(from), match.begin - from);
    if (last.length == 0 || !is_blank(last.codepoint)) break;
    match.begin -= last.length;
  }
  while (rules.right_strip) {
    const Character next = character_behind(text, match.end);
    if (next.length == 0 || !is_blank(next.codepoint)) break;
    match.end += next.length;
  }
  return match;
}

}  // namespace

SpecialTokenMatcher::SpecialTokenMatcher(const Vocabulary& vocabulary, bool after_others) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(id);
    if (!is_added(vocabulary.type(id)) || text.empty()) continue;
    const AddedTokenRules rules = vocabulary.added_rules(id);
    if (rules.after_others != after_others) continue;
    if (text.size() > kMaxAddedTokenBytes) {
      throw_unsupported("vocabulary: added token {} has {} bytes, more than {}", id, text.size(),
                        kMaxAddedTokenBytes);
    }
    entries_.push_back({text, id, vocabulary.type(id) == TokenType::kUserDefined, rules});
    first_bytes_[static_cast<uint8_t>(text[0])] = true;
  }
  std::ranges::stable_sort(entries_, {}, &Entry::text);
}

std::optional<SpecialTokenMatcher::Match> SpecialTokenMatcher::find(
    std::string_view text, ByteRange part, size_t from, std::span<const ByteRange> literal) const {
  if (entries_.empty()) return std::nullopt;
  text = text.substr(0, part.end);
  auto next = std::ranges::upper_bound(literal, from, {}, &ByteRange::end);
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!first_bytes_[static_cast<uint8_t>(text[begin])]) continue;
    while (next != literal.end() && next->end <= begin) ++next;
    const size_t limit = next == literal.end() ? text.size() : next->begin;
    const Entry* entry = match_at(text, begin, limit);
    if (entry == nullptr) continue;
    const ByteRange match{begin, begin + entry->text.size()};
    if (entry->rules.single_word && inside_a_word(text, part, match)) {
      begin = match.end - 1;  // as in the original, nothing else is looked for in it
      continue;
    }
    return Match{with_blanks(text, from, match, entry->rules), entry->id};
  }
  return std::nullopt;
}

const SpecialTokenMatcher::Entry* SpecialTokenMatcher::match_at(std::string_view text, size_t begin,
                                                                size_t limit) const {
  const Entry* longest = nullptr;
  // [low, high): the entries that begin with the `depth` bytes read so far.
  auto low = entries_.begin();
  auto high = entries_.end();
  for (size_t depth = 0; low != high; ++depth) {
    // The shortest sort first: those that are the bytes read, if there are any, by ascending id.
    bool found = false;
    for (; low != high && low->text.size() == depth; ++low) {
      if (found || !(low->in_plain_text || begin + depth <= limit)) continue;
      longest = &*low;
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
