#include "kvcache/prefix_index.h"

#include <algorithm>
#include <random>
#include <utility>

namespace adze::kvcache {

PrefixIndex::PrefixIndex(size_t groups) : groups_(groups) {
  std::random_device device;
  secret_ = (uint64_t{device()} << 32 | device()) | 1;
}

uint64_t PrefixIndex::key_of(NodeId parent, std::span<const int32_t> tokens,
                             std::string_view salt) const {
  uint64_t hash = secret_;
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * secret_;
    hash ^= hash >> 32;
  };
  mix(parent);
  for (const int32_t token : tokens) mix(static_cast<uint32_t>(token));
  for (const char c : salt) mix(static_cast<unsigned char>(c));
  return hash;
}

PrefixIndex::Node* PrefixIndex::find(NodeId parent, std::span<const int32_t> tokens,
                                     std::string_view salt) {
  const auto found = nodes_.find(key_of(parent, tokens, salt));
  if (found == nodes_.end()) return nullptr;
  Node& node = *found->second;
  const bool same =
      node.parent == parent && node.salt == salt &&
      std::equal(tokens.begin(), tokens.end(), node.tokens.begin(), node.tokens.end());
  return same ? &node : nullptr;
}

PrefixIndex::Node* PrefixIndex::add(NodeId parent, std::span<const int32_t> tokens,
                                    std::string_view salt) {
  auto node = std::make_unique<Node>(Node{next_id_,
                                          parent,
                                          std::string(salt),
                                          {tokens.begin(), tokens.end()},
                                          std::vector<std::byte*>(groups_)});
  const auto [place, added] = nodes_.try_emplace(key_of(parent, tokens, salt), std::move(node));
  if (!added) return nullptr;
  ++next_id_;
  return place->second.get();
}

void PrefixIndex::set_block(Node& node, size_t group, std::byte* block) {
  places_.emplace(block, Place{key_of(node.parent, node.tokens, node.salt), group});
  node.blocks[group] = block;
}

void PrefixIndex::forget(std::byte* block) {
  const auto place = places_.find(block);
  if (place == places_.end()) return;
  const auto node = nodes_.find(place->second.key);
  node->second->blocks[place->second.group] = nullptr;
  places_.erase(place);
  forget_empty(*node->second);
}

void PrefixIndex::forget_empty(const Node& node) {
  if (std::ranges::any_of(node.blocks, [](const std::byte* block) { return block != nullptr; })) {
    return;
  }
  nodes_.erase(key_of(node.parent, node.tokens, node.salt));
}

}  // namespace adze::kvcache
