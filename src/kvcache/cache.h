// The cache of all sequences: pools by state group, and what of them can be used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/block_pool.h"
#include "kvcache/prefix_index.h"

namespace adze::kvcache {

struct GroupSpec {
  size_t block_bytes = 0;
  int32_t blocks = 0;
  int32_t window = 0;  // positions that a row sees, its own included; 0: all
  int32_t sinks = 0;   // with a window: first positions that every row sees beside it
};

// The most blocks of a group that one sequence holds at once if it grows to `tokens`, at most
// `rows` of them in one batch.
int32_t sequence_quota(int32_t window, int32_t sinks, int64_t tokens, int32_t rows,
                       int32_t block_tokens);

class SequenceBlocks;

// Not thread-safe. Outlives its sequences.
class Cache {
 public:
  // Throws as BlockPool does. `block_tokens` is above 0.
  Cache(std::span<const GroupSpec> groups, int32_t block_tokens);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  size_t groups() const { return specs_.size(); }
  int32_t block_tokens() const { return block_tokens_; }
  // sequence_quota() of a group.
  int32_t quota(size_t group, int64_t tokens, int32_t rows) const;
  // Blocks of a group, all and those without an owner.
  int32_t total(size_t group) const { return pools_[group].total(); }
  int32_t available(size_t group) const { return pools_[group].available(); }

 private:
  friend class SequenceBlocks;

  std::vector<GroupSpec> specs_;
  int32_t block_tokens_;
  PrefixIndex index_;
  std::deque<BlockPool> pools_;  // by state group
  // Without a window: blocks that running sequences may still ask for. With one: the most that all
  // of them hold at once.
  std::vector<int64_t> promised_;
};

// What one sequence holds of the cache; gives it back when it ends.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(Cache& cache)
      : cache_(&cache), tables_(cache.groups()), quota_(cache.groups()) {}
  ~SequenceBlocks() { clear(); }
  SequenceBlocks(const SequenceBlocks&) = delete;
  SequenceBlocks& operator=(const SequenceBlocks&) = delete;

  // Sets aside all that a sequence with this prompt needs to grow to `most_tokens`, at most `rows`
  // of them in one batch, so that extend() never fails; the blocks of the longest beginning of the
  // prompt that was computed under the same salt are taken over. At least one token is left to
  // compute. Returns how many tokens need no computing, or nothing where there is no room now;
  // then, and where memory is short (std::bad_alloc), it holds nothing.
  std::optional<int32_t> admit(std::span<const int32_t> prompt, int64_t most_tokens, int32_t rows,
                               std::string_view salt);
  // Blocks for positions below `tokens`.
  void extend(int32_t tokens);
  // The keys and values of `tokens`, all from the beginning on, are written: full blocks can be
  // found by others from now on, and those that no later row sees are given back.
  void computed(std::span<const int32_t> tokens);
  // Gives everything back.
  void clear();

  // Blocks by position; null where the window has passed and no sink is.
  std::span<std::byte* const> table(size_t group) const { return tables_[group]; }

 private:
  // Nodes of the prompt's beginning, as many as every group has the blocks to go on from.
  std::vector<PrefixIndex::Node*> find_prefix(std::span<const int32_t> prompt);
  int32_t first_needed(size_t group, int64_t position) const;  // of the window
  int32_t sink_blocks(size_t group) const;
  void share_full_blocks(std::span<const int32_t> tokens);
  void pass_window(int64_t position);

  Cache* cache_;
  std::string salt_;
  std::vector<std::vector<std::byte*>> tables_;  // by state group
  std::vector<int32_t> quota_;                   // by state group; 0 before admit()
  std::vector<int32_t> held_ = std::vector<int32_t>(tables_.size());
  std::vector<int32_t> passed_ = std::vector<int32_t>(tables_.size());  // before the window
  int32_t shared_ = 0;                                                  // full blocks in the index
  PrefixIndex::NodeId last_ = PrefixIndex::kBeginning;  // the node of the last of them
  bool sharing_ = true;
};

}  // namespace adze::kvcache
