// State groups: what a sequence carries from token to token, declared by the model's graph and read
// by the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace adze::graph {

enum class StateKind : uint8_t {
  kFullKv,      // keys and values of every position
  kWindowedKv,  // keys and values of the last `window` positions and the first `sinks`
};

inline constexpr int32_t kBlockTokens = 32;  // tokens per cache block

// Layers that share a kind of state and a block table. A block holds kBlockTokens tokens of every
// layer of the group, layer after layer; its bytes are laid out by the attention kernel and opaque
// to the cache.
struct StateGroup {
  std::string name;
  StateKind kind = StateKind::kFullKv;
  int32_t window = 0;           // kWindowedKv: positions that a row sees, its own included; else 0
  std::vector<int32_t> layers;  // model layers, ascending
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  size_t layer_block_bytes = 0;  // bytes of one layer in one block; set by the layout's owner
  int32_t sinks = 0;             // kWindowedKv: first positions that every row sees beside it

  // The first position of the window of the row at `position`.
  int32_t first_visible(int32_t position) const {
    return window == 0 || position < window ? 0 : position - window + 1;
  }
  // Whether rows from `position` on see keys of a block.
  bool sees_block(int32_t block, int32_t position) const {
    return block * kBlockTokens < sinks || block >= first_visible(position) / kBlockTokens;
  }
  size_t block_bytes() const { return layer_block_bytes * layers.size(); }
};

}  // namespace adze::graph
