// What one run of a plan computes: a ragged batch of rows from several sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace adze::graph {

enum class MaskKind : uint8_t {
  kCausal,         // a row sees its sequence's positions up to its own
  kBidirectional,  // a row sees every position of its sequence in this batch
};

enum class Pooling : uint8_t { kNone, kLast, kMean };

// One sequence's part of a batch: consecutive rows at consecutive positions. Pointers are owned by
// the caller and stay valid for the run.
struct BatchSequence {
  int32_t first_row = 0;       // its first row in the batch
  int32_t rows = 0;            // how many rows (1 for a decode, more for a prompt chunk)
  int32_t first_position = 0;  // position of the first row = tokens already in the cache
  int32_t adapter = -1;        // -1: none
  MaskKind mask = MaskKind::kCausal;
  Pooling pooling = Pooling::kNone;
  // Per state group, the sequence's cache blocks in order of position: blocks[group][i] is the base
  // of block i, which holds the group's layers one after another. Enough blocks for first_position
  // + rows tokens. Null where a windowed group has let go of a block that no row sees any more.
  std::vector<std::span<std::byte* const>> blocks;
};

// Rows are ordered by sequence: sequence i's rows follow those of sequence i − 1.
struct Batch {
  std::span<const int32_t> tokens;  // [rows]
  std::span<const BatchSequence> sequences;
  // Rows whose logits are wanted, ascending; the plan's output has one row for each.
  std::span<const int32_t> sampled_rows;

  int32_t rows() const { return static_cast<int32_t>(tokens.size()); }
};

}  // namespace adze::graph
