// What an instruction set provides to attention. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"

namespace adze::ops {

inline constexpr int kSegmentBlocks = kSegmentTokens / kCacheBlockTokens;

// Partial result of one row and segment: o[padded_dim], then m and l, then padding to 64 bytes.
// l == 0 says that nothing was visible; the rest is then unspecified.
inline constexpr int kPartialTail = 16;

// A tile of rows in one segment. The blocks are those that some row sees, in order, at most 8;
// `tokens` = 32 · blocks counts their slots.
struct SegmentTile {
  const std::byte* keys[kSegmentBlocks];
  const std::byte* values[kSegmentBlocks];
  const float* scales[kSegmentBlocks];  // I8: [2][32]
  int blocks = 0;
  int rows = 0;
  int padded_dim = 0;
  float scale = 1;

  // Queries, padded with zeros. F32, BF16: float[padded_dim][kMaxTileRows]. I8: 15-bit codes in
  // pairs, int16[padded_dim / 4][kMaxTileRows][4] in the order d = 0, 2, 1, 3 of each quad, with a
  // row's scale and −128 · Σ codes.
  const void* queries = nullptr;
  const float* query_scales = nullptr;         // [kMaxTileRows]
  const int32_t* query_corrections = nullptr;  // [kMaxTileRows]

  float* scores = nullptr;  // [kMaxTileRows][kSegmentTokens], then p in place
  // I8: p · value scale in 15-bit codes, int16[kMaxTileRows][kSegmentTokens], each four tokens in
  // the order t = 0, 2, 1, 3; and a row's scale.
  int16_t* codes = nullptr;
  float* code_scales = nullptr;  // [kMaxTileRows]

  float* partials = nullptr;  // of row 0; rows follow each other
};

static inline size_t partial_stride(int padded_dim) {
  return static_cast<size_t>(padded_dim) + kPartialTail;
}

struct AttentionKernel {
  const char* name;
  Isa isa;
  DType dtype;
  void (*scores)(const SegmentTile& tile);   // scale · q·k, unmasked
  void (*softmax)(const SegmentTile& tile);  // scores → p (and codes); m and l into the partials
  void (*values)(const SegmentTile& tile);   // o into the partials
  // into ← into ⊕ next, one row's partial results; `next` covers later positions.
  void (*merge)(float* into, const float* next, int padded_dim);
};

#define ADZE_ATTENTION_KERNEL(name, isa, dtype) extern const AttentionKernel name;
#include "ops/attention/kernels.inc"
#undef ADZE_ATTENTION_KERNEL

// Every kernel of kernels.inc.
std::span<const AttentionKernel* const> attention_kernels();

}  // namespace adze::ops
