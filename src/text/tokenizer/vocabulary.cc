#include "text/tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/load.h"

namespace adze::text {
namespace {

constexpr uint64_t kHashPrime = (uint64_t{1} << 61) - 1;

uint64_t random_hash_base() {
  std::random_device random;
  return std::uniform_int_distribution<uint64_t>(uint64_t{1} << 56, kHashPrime - 1)(random);
}

// The first seven bytes as a number, or all of a shorter text. Loads overlap instead of ending
// anywhere, which would copy to memory and wait for it.
uint64_t digit_of(std::string_view text) {
  const size_t size = text.size();
  if (size >= 8) return load<uint64_t>(text.data()) & ((uint64_t{1} << 56) - 1);
  if (size == 1) return load<uint8_t>(text.data());
  const size_t half = size >= 4 ? 4 : 2;
  const char* const tail = text.data() + size - half;
  const uint64_t first = half == 4 ? load<uint32_t>(text.data()) : load<uint16_t>(text.data());
  const uint64_t last = half == 4 ? load<uint32_t>(tail) : load<uint16_t>(tail);
  return first | last << 8 * (size - half);
}

uint32_t high_bits(uint64_t hash) { return static_cast<uint32_t>(hash >> 29); }

void check_id(std::optional<TokenId> id, std::string_view name, size_t token_count) {
  if (id && (*id < 0 || static_cast<size_t>(*id) >= token_count)) {
    throw_invalid("vocabulary: {} token id {} is out of range ({} tokens)", name, *id, token_count);
  }
}

void validate(const VocabularyData& data) {
  const size_t count = data.tokens.size();
  if (count == 0) throw_invalid("vocabulary: no tokens");
  if (count > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    throw_invalid("vocabulary: {} tokens are too many", count);
  }
  if (!data.types.empty() && data.types.size() != count) {
    throw_invalid("vocabulary: {} token types for {} tokens", data.types.size(), count);
  }
  if (!data.scores.empty() && data.scores.size() != count) {
    throw_invalid("vocabulary: {} scores for {} tokens", data.scores.size(), count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (data.tokens[i].size() > kMaxTokenBytes) {
      throw_invalid("vocabulary: token {} has {} bytes, more than the limit of {}", i,
                    data.tokens[i].size(), kMaxTokenBytes);
    }
  }
  for (size_t i = 0; i < data.scores.size(); ++i) {
    if (std::isnan(data.scores[i])) throw_invalid("vocabulary: the score of token {} is NaN", i);
  }
  check_id(data.special.bos, "bos", count);
  check_id(data.special.eos, "eos", count);
  check_id(data.special.eot, "eot", count);
  check_id(data.special.eom, "eom", count);
  check_id(data.special.unknown, "unknown", count);
  check_id(data.special.padding, "padding", count);
  for (const TokenId id : data.special.stops) check_id(id, "stop", count);
  if (data.add_bos && !data.special.bos) throw_invalid("vocabulary: bos is to be added but absent");
  if (data.add_eos && !data.special.eos) throw_invalid("vocabulary: eos is to be added but absent");
}

}  // namespace

Vocabulary::Vocabulary(VocabularyData data)
    : data_(std::move(data)), hash_base_(random_hash_base()) {
  validate(data_);
  slots_.resize(std::bit_ceil(data_.tokens.size() * 2));
  for (TokenId id = 0; id < size(); ++id) {
    const uint64_t hash = hash_of(text(id));
    Slot& slot = slots_[slot_of(text(id), hash)];
    if (slot.id < 0) slot = {high_bits(hash), id};
  }
}

// The text as a number of digits of seven bytes, in base hash_base_ modulo a prime (Carter and
// Wegman, "Universal classes of hash functions", 1979). The last digit is multiplied too: as it
// stands, its low bits are the first bytes of the text, the same in thousands of tokens.
uint64_t Vocabulary::hash_of(std::string_view text) const {
  __extension__ using Wide = unsigned __int128;
  uint64_t hash = text.size();
  for (size_t at = 0; at < text.size(); at += 7) {
    hash += digit_of(text.substr(at));
    if (hash >= kHashPrime) hash -= kHashPrime;
    const Wide product = static_cast<Wide>(hash) * hash_base_;
    hash = static_cast<uint64_t>(product & kHashPrime) + static_cast<uint64_t>(product >> 61);
    if (hash >= kHashPrime) hash -= kHashPrime;
  }
  return hash;
}

// The low bits choose a slot, the high ones tell texts apart before any is read.
size_t Vocabulary::slot_of(std::string_view wanted, uint64_t hash) const {
  const uint32_t high = high_bits(hash);
  size_t i = hash & (slots_.size() - 1);
  while (slots_[i].id >= 0 && !(slots_[i].high == high && text(slots_[i].id) == wanted)) {
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

std::optional<TokenId> Vocabulary::find(std::string_view wanted) const {
  const TokenId id = slots_[slot_of(wanted, hash_of(wanted))].id;
  return id < 0 ? std::nullopt : std::optional(id);
}

bool Vocabulary::ends_generation(TokenId id) const {
  const SpecialIds& special = data_.special;
  return id == special.eos || id == special.eot || id == special.eom ||
         std::find(special.stops.begin(), special.stops.end(), id) != special.stops.end();
}

}  // namespace adze::text
