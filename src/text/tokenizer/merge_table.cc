#include "text/tokenizer/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <queue>
#include <random>
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

uint64_t random_odd() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32 | random()) | 1;
}

}  // namespace

MergeTable::MergeTable(const Vocabulary& vocabulary) : multiplier_(random_odd()) {
  const StringTable& merges = vocabulary.merges();
  if (merges.size() >= kNoRank) throw_invalid("vocabulary: {} merges are too many", merges.size());
  slots_.resize(std::bit_ceil(merges.size() * 2 + 2));
  results_.reserve(merges.size());
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    // Parts contain no blank (byte-level spelling has none), but the first may begin with one in
    // other spellings.
    const size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos || blank + 1 == merge.size()) {
      throw_invalid("vocabulary: merge {} (\"{}\") is not two parts", i, printable(merge));
    }
    const std::string_view left = merge.substr(0, blank);
    const std::string_view right = merge.substr(blank + 1);
    joined.assign(left).append(right);
    results_.push_back(token_of(vocabulary, i, joined));
    insert(token_of(vocabulary, i, left), token_of(vocabulary, i, right), static_cast<uint32_t>(i));
  }
}

size_t MergeTable::slot_of(TokenId left, TokenId right) const {
  const uint64_t pair =
      (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
  // The top bits of a product by a secret odd number: a file cannot choose merges that collide
  // (Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair problem", 1997).
  return static_cast<size_t>((pair * multiplier_) >> (64 - std::countr_zero(slots_.size())));
}

void MergeTable::insert(TokenId left, TokenId right, uint32_t rank) {
  size_t slot = slot_of(left, right);
  while (slots_[slot].left >= 0 && (slots_[slot].left != left || slots_[slot].right != right)) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = {left, right, rank};
}

uint32_t MergeTable::rank_of(TokenId left, TokenId right) const {
  for (size_t slot = slot_of(left, right); slots_[slot].left >= 0;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].left == left && slots_[slot].right == right) return slots_[slot].rank;
  }
  return kNoRank;
}

uint64_t MergeTable::apply(std::vector<TokenId>& symbols) const {
  if (symbols.size() < 2) return 0;
  return symbols.size() <= kShortWord ? apply_short(symbols) : apply_long(symbols);
}

uint64_t MergeTable::apply_short(std::vector<TokenId>& symbols) const {
  std::array<uint32_t, kShortWord> ranks;  // of the pair that begins here
  size_t pairs = symbols.size() - 1;
  for (size_t i = 0; i < pairs; ++i) ranks[i] = rank_of(symbols[i], symbols[i + 1]);
  uint64_t steps = pairs;
  while (pairs > 0) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + pairs);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = results_[*best];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    std::copy(ranks.begin() + at + 1, ranks.begin() + pairs, ranks.begin() + at);
    --pairs;
    if (at > 0) ranks[at - 1] = rank_of(symbols[at - 1], symbols[at]);
    if (at < pairs) ranks[at] = rank_of(symbols[at], symbols[at + 1]);
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
  uint64_t steps = count;
  for (uint32_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    if (i + 1 == count) break;
    const uint32_t rank = rank_of(symbols[i], symbols[i + 1]);
    if (rank != kNoRank) candidates.push_back({rank, i, symbols[i], symbols[i + 1]});
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(candidates));
  const auto note = [&](uint32_t left) {
    const uint32_t rank = rank_of(symbols[left], symbols[next[left]]);
    if (rank != kNoRank) queue.push({rank, left, symbols[left], symbols[next[left]]});
    ++steps;
  };
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    ++steps;
    const uint32_t at = best.position;
    const uint32_t absorbed = next[at];
    if (symbols[at] != best.left || absorbed == count || symbols[absorbed] != best.right) continue;
    symbols[at] = results_[best.rank];
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
