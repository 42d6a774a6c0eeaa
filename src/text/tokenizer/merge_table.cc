#include "text/tokenizer/merge_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <queue>
#include <string>

#include "base/error.h"

namespace adze::text {
namespace {

// Up to here looking at all ranks for each merge beats a heap.
constexpr size_t kShortWord = 32;

TokenId token_of(const Vocabulary& vocabulary, size_t merge, std::string_view text) {
  const auto id = vocabulary.find(text);
  if (!id) {
    throw_invalid("vocabulary: merge {} (\"{}\"): \"{}\" is not a token", merge,
                  printable(vocabulary.merges()[merge]), printable(text));
  }
  return *id;
}

constexpr uint32_t kNoRank = UINT32_MAX;

uint64_t key_of(TokenId left, TokenId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

std::vector<Merge> listed_merges(const Vocabulary& vocabulary) {
  const StringTable& texts = vocabulary.merges();
  if (texts.size() >= kNoRank) throw_invalid("vocabulary: {} merges are too many", texts.size());
  std::vector<Merge> merges;
  merges.reserve(texts.size());
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    // Parts contain no blank (in the spellings of both kinds), but the first may begin with one in
    // other spellings.
    const size_t blank = text.find(' ', 1);
    if (blank == std::string_view::npos || blank + 1 == text.size()) {
      throw_invalid("vocabulary: merge {} (\"{}\") is not two parts", i, printable(text));
    }
    const std::string_view left = text.substr(0, blank);
    const std::string_view right = text.substr(blank + 1);
    joined.assign(left).append(right);
    merges.push_back({token_of(vocabulary, i, left), token_of(vocabulary, i, right),
                      token_of(vocabulary, i, joined), static_cast<uint32_t>(i)});
  }
  return merges;
}

MergeTable::MergeTable(std::span<const Merge> merges) {
  merges_.reserve(merges.size());
  for (const Merge& merge : merges) {
    assert(merge.rank != kNoRank);
    merges_.set(key_of(merge.left, merge.right), {merge.rank, merge.result});
  }
}

MergeTable::Found MergeTable::find(TokenId left, TokenId right) const {
  const Found* found = merges_.find(key_of(left, right));
  return found == nullptr ? Found{} : *found;
}

uint64_t MergeTable::apply(std::vector<TokenId>& symbols) const {
  if (symbols.size() < 2) return 0;
  return symbols.size() <= kShortWord ? apply_short(symbols) : apply_long(symbols);
}

uint64_t MergeTable::apply_short(std::vector<TokenId>& symbols) const {
  std::array<uint32_t, kShortWord> ranks;  // of the pair that begins here
  std::array<TokenId, kShortWord> results;
  const auto look_up = [&](size_t i) {
    const Found found = find(symbols[i], symbols[i + 1]);
    ranks[i] = found.rank;
    results[i] = found.result;
  };
  size_t pairs = symbols.size() - 1;
  for (size_t i = 0; i < pairs; ++i) look_up(i);
  uint64_t steps = pairs;
  while (pairs > 0) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + pairs);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = results[at];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    std::copy(ranks.begin() + at + 1, ranks.begin() + pairs, ranks.begin() + at);
    std::copy(results.begin() + at + 1, results.begin() + pairs, results.begin() + at);
    --pairs;
    if (at > 0) look_up(at - 1);
    if (at < pairs) look_up(at);
    steps += 2;
  }
  return steps;
}

uint64_t MergeTable::apply_long(std::vector<TokenId>& symbols) const {
  struct Candidate {
    uint32_t rank;
    uint32_t position;
    TokenId left;  // what stood there when it was noted: a candidate out of date is dropped
    TokenId right;
    TokenId result;
    bool operator<(const Candidate& other) const {  // the best on top of the queue
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  constexpr TokenId kGone = -1;
  const auto count = static_cast<uint32_t>(symbols.size());
  assert(symbols.size() == count);
  std::vector<uint32_t> next(count);
  std::vector<uint32_t> previous(count);
  std::vector<Candidate> candidates;
  const auto candidate = [&](uint32_t left, uint32_t right) {
    const Found found = find(symbols[left], symbols[right]);
    return Candidate{found.rank, left, symbols[left], symbols[right], found.result};
  };
  uint64_t steps = count;
  for (uint32_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    if (i + 1 == count) break;
    const Candidate noted = candidate(i, i + 1);
    if (noted.rank != kNoRank) candidates.push_back(noted);
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(candidates));
  const auto note = [&](uint32_t left) {
    const Candidate noted = candidate(left, next[left]);
    if (noted.rank != kNoRank) queue.push(noted);
    ++steps;
  };
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    ++steps;
    const uint32_t at = best.position;
    const uint32_t absorbed = next[at];
    if (symbols[at] != best.left || absorbed == count || symbols[absorbed] != best.right) continue;
    symbols[at] = best.result;
    symbols[absorbed] = kGone;
    next[at] = next[absorbed];
    if (next[at] != count) {
      previous[next[at]] = at;
      note(at);
    }
    if (at != 0) note(previous[at]);
  }
  std::erase(symbols, kGone);
  return steps;
}

}  // namespace adze::text
