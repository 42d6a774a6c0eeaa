// Which blocks hold the keys and values of which beginnings of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace adze::kvcache {

// A node stands for a run of block_tokens tokens behind another node's (or at a text's beginning
// under some salt), and names the block of every state group that holds it, where there still is
// one. Found by a hash of parent and tokens, compared in full. Ids are never used again, so what
// was below a node that is gone is not found any more. Not thread-safe.
class PrefixIndex {
 public:
  using NodeId = uint64_t;
  struct Node {
    NodeId id = 0;
    NodeId parent = 0;
    std::string salt;  // of a beginning
    std::vector<int32_t> tokens;
    std::vector<std::byte*> blocks;  // by state group; null: gone
  };
  static constexpr NodeId kBeginning = 0;

  explicit PrefixIndex(size_t groups);

  // The node of `tokens` behind `parent`; null where there is none. Valid until it is forgotten.
  Node* find(NodeId parent, std::span<const int32_t> tokens, std::string_view salt);
  // Adds it, without blocks. Null where the hash is taken by other tokens. Where memory is short
  // (std::bad_alloc) nothing has changed, here as in set_block().
  Node* add(NodeId parent, std::span<const int32_t> tokens, std::string_view salt);
  // `block` holds the node's tokens for a group that has none.
  void set_block(Node& node, size_t group, std::byte* block);
  // The block holds them no longer; a node without blocks is forgotten.
  void forget(std::byte* block);
  // Forgets it if it has no block.
  void forget_empty(const Node& node);

 private:
  struct Place {
    uint64_t key;
    size_t group;
  };

  uint64_t key_of(NodeId parent, std::span<const int32_t> tokens, std::string_view salt) const;

  size_t groups_;
  uint64_t secret_;  // so that nobody can choose tokens whose hashes meet
  NodeId next_id_ = kBeginning + 1;
  std::unordered_map<uint64_t, std::unique_ptr<Node>> nodes_;
  std::unordered_map<const std::byte*, Place> places_;
};

}  // namespace adze::kvcache
