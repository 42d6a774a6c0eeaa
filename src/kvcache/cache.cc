#include "kvcache/cache.h"

#include <algorithm>
#include <new>

namespace adze::kvcache {
namespace {

int64_t blocks_for(int64_t tokens, int32_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

}  // namespace

int32_t sequence_quota(int32_t window, int32_t sinks, int64_t tokens, int32_t rows,
                       int32_t block_tokens) {
  int64_t blocks = blocks_for(tokens, block_tokens);
  if (window > 0) {
    // Rows and the window before the first of them, from anywhere in a block to anywhere in one.
    const int64_t seen = int64_t{window} - 1 + rows;
    blocks = std::min(blocks, (seen - 1) / block_tokens + 2 + blocks_for(sinks, block_tokens));
  }
  return static_cast<int32_t>(blocks);
}

Cache::Cache(std::span<const GroupSpec> groups, int32_t block_tokens)
    : specs_(groups.begin(), groups.end()),
      block_tokens_(block_tokens),
      index_(groups.size()),
      promised_(groups.size()) {
  for (const GroupSpec& spec : groups) {
    pools_.emplace_back(spec.block_bytes, spec.blocks,
                        [this](std::byte* block) { index_.forget(block); });
  }
}

int32_t Cache::quota(size_t group, int64_t tokens, int32_t rows) const {
  return sequence_quota(specs_[group].window, specs_[group].sinks, tokens, rows, block_tokens_);
}

int32_t SequenceBlocks::first_needed(size_t group, int64_t position) const {
  const int32_t window = cache_->specs_[group].window;
  if (window == 0 || position < window) return 0;
  return static_cast<int32_t>((position - window + 1) / cache_->block_tokens_);
}

int32_t SequenceBlocks::sink_blocks(size_t group) const {
  const GroupSpec& spec = cache_->specs_[group];
  return spec.window == 0 ? 0 : static_cast<int32_t>(blocks_for(spec.sinks, cache_->block_tokens_));
}

std::vector<PrefixIndex::Node*> SequenceBlocks::find_prefix(std::span<const int32_t> prompt) {
  const auto block = static_cast<size_t>(cache_->block_tokens_);
  std::vector<PrefixIndex::Node*> nodes;
  size_t usable = 0;
  bool sinks = true;  // every group has its sinks' blocks
  std::vector<size_t> unbroken(
      tables_.size());  // by group: how many of the last nodes have a block
  PrefixIndex::NodeId parent = PrefixIndex::kBeginning;
  for (size_t i = 0; (i + 1) * block < prompt.size(); ++i) {
    PrefixIndex::Node* node =
        cache_->index_.find(parent, prompt.subspan(i * block, block), i == 0 ? salt_ : "");
    if (node == nullptr) break;
    nodes.push_back(node);
    parent = node->id;
    bool complete = true;
    for (size_t group = 0; group < tables_.size(); ++group) {
      unbroken[group] = node->blocks[group] == nullptr ? 0 : unbroken[group] + 1;
      const auto first =
          static_cast<size_t>(first_needed(group, static_cast<int64_t>(nodes.size() * block)));
      complete = complete && unbroken[group] + first >= nodes.size();
      sinks = sinks &&
              (static_cast<int32_t>(i) >= sink_blocks(group) || node->blocks[group] != nullptr);
    }
    if (!sinks) break;
    if (complete) usable = nodes.size();
  }
  nodes.resize(usable);
  return nodes;
}

std::optional<int32_t> SequenceBlocks::admit(std::span<const int32_t> prompt, int64_t most_tokens,
                                             int32_t rows, std::string_view salt) {
  salt_ = salt;
  const std::vector<PrefixIndex::Node*> prefix = find_prefix(prompt);
  const auto tokens = static_cast<int32_t>(prefix.size()) * cache_->block_tokens_;
  std::vector<int32_t> quota;
  for (size_t group = 0; group < tables_.size(); ++group) {
    const BlockPool& pool = cache_->pools_[group];
    quota.push_back(cache_->quota(group, most_tokens, rows));
    if (cache_->specs_[group].window > 0) {
      // Blocks come back while others still hold them: what counts is what all may hold at once.
      if (cache_->promised_[group] + quota.back() > pool.total()) return std::nullopt;
      continue;
    }
    int64_t demand = quota.back() - static_cast<int64_t>(prefix.size());
    for (const PrefixIndex::Node* node : prefix) {
      if (!pool.has_owner(node->blocks[group])) ++demand;  // until now it counts as available
    }
    if (cache_->promised_[group] + demand > pool.available()) return std::nullopt;
  }
  // From here on nothing asks for memory: what is taken is also accounted for.
  for (std::vector<std::byte*>& table : tables_) table.reserve(prefix.size());
  quota_ = std::move(quota);
  for (size_t group = 0; group < tables_.size(); ++group) {
    cache_->promised_[group] += quota_[group];
    passed_[group] = first_needed(group, tokens);
    for (size_t i = 0; i < prefix.size(); ++i) {
      const auto block = static_cast<int32_t>(i);
      if (block < passed_[group] && block >= sink_blocks(group)) {
        tables_[group].push_back(nullptr);
        continue;
      }
      cache_->pools_[group].retain(prefix[i]->blocks[group]);
      tables_[group].push_back(prefix[i]->blocks[group]);
      ++held_[group];
      if (cache_->specs_[group].window == 0) --cache_->promised_[group];
    }
  }
  shared_ = static_cast<int32_t>(prefix.size());
  if (!prefix.empty()) last_ = prefix.back()->id;
  return tokens;
}

void SequenceBlocks::extend(int32_t tokens) {
  const auto blocks = static_cast<size_t>(blocks_for(tokens, cache_->block_tokens_));
  for (size_t group = 0; group < tables_.size(); ++group) {
    std::vector<std::byte*>& table = tables_[group];
    table.reserve(blocks);
    while (table.size() < blocks) {
      table.push_back(cache_->pools_[group].allocate());
      ++held_[group];
      if (cache_->specs_[group].window == 0) --cache_->promised_[group];
    }
  }
}

void SequenceBlocks::share_full_blocks(std::span<const int32_t> tokens) {
  const auto block = static_cast<size_t>(cache_->block_tokens_);
  for (auto i = static_cast<size_t>(shared_); sharing_ && (i + 1) * block <= tokens.size(); ++i) {
    const std::span<const int32_t> own = tokens.subspan(i * block, block);
    const std::string_view salt = i == 0 ? std::string_view(salt_) : std::string_view();
    PrefixIndex::Node* node = cache_->index_.find(last_, own, salt);
    if (node == nullptr) node = cache_->index_.add(last_, own, salt);
    sharing_ = node != nullptr;
    if (!sharing_) return;
    try {
      for (size_t group = 0; group < tables_.size(); ++group) {
        std::byte* held = tables_[group][i];
        if (held == nullptr || node->blocks[group] != nullptr) continue;
        cache_->index_.set_block(*node, group, held);
        cache_->pools_[group].keep(held);
      }
    } catch (...) {
      cache_->index_.forget_empty(*node);
      throw;
    }
    last_ = node->id;
    ++shared_;
  }
}

void SequenceBlocks::pass_window(int64_t position) {
  for (size_t group = 0; group < tables_.size(); ++group) {
    const int32_t first = first_needed(group, position);
    for (int32_t& i = passed_[group]; i < first; ++i) {
      if (i < sink_blocks(group)) continue;
      std::byte*& block = tables_[group][static_cast<size_t>(i)];
      cache_->pools_[group].release(block);
      block = nullptr;
      --held_[group];
    }
  }
}

void SequenceBlocks::computed(std::span<const int32_t> tokens) {
  try {
    share_full_blocks(tokens);
  } catch (const std::bad_alloc&) {
    sharing_ = false;  // others compute it again; this sequence goes on
  }
  pass_window(static_cast<int64_t>(tokens.size()));
}

void SequenceBlocks::clear() {
  for (size_t group = 0; group < tables_.size(); ++group) {
    const bool windowed = cache_->specs_[group].window > 0;
    cache_->promised_[group] -= windowed ? quota_[group] : quota_[group] - held_[group];
    // The last block first: a beginning without its end is still of use.
    std::vector<std::byte*>& table = tables_[group];
    for (auto block = table.rbegin(); block != table.rend(); ++block) {
      if (*block != nullptr) cache_->pools_[group].release(*block);
    }
    table.clear();
    quota_[group] = held_[group] = passed_[group] = 0;
  }
  shared_ = 0;
  last_ = PrefixIndex::kBeginning;
  sharing_ = true;
}

}  // namespace adze::kvcache
