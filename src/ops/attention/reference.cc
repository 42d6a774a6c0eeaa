// Attention in plain scalar code, operation by operation in the order that attention.h states: what
// every other kernel must equal bit for bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "ops/attention/attention_kernels.h"
#include "ops/simd/lanes_exp.h"

namespace adze::ops {
namespace {

constexpr size_t kTokens = kCacheBlockTokens;
constexpr size_t kLanes = 16;
constexpr float kMaxCode = 32767;
constexpr float kNothing = -std::numeric_limits<float>::infinity();  // score of the invisible

constexpr size_t to_size(int n) { return static_cast<size_t>(n); }

template <class T>
T load(const std::byte* p, size_t index) {
  T value;
  std::memcpy(&value, p + index * sizeof(T), sizeof(T));
  return value;
}

float bf16(const std::byte* p, size_t index) {
  return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(p, index)) << 16);
}

template <DType kType>
float key(const SegmentTile& tile, size_t b, size_t t, size_t d) {
  if constexpr (kType == DType::kF32) return load<float>(tile.keys[b], d * kTokens + t);
  return bf16(tile.keys[b], (d / 2 * kTokens + t) * 2 + d % 2);
}

template <DType kType>
float value(const SegmentTile& tile, size_t b, size_t t, size_t d) {
  const size_t dim = to_size(tile.padded_dim);
  if constexpr (kType == DType::kF32) return load<float>(tile.values[b], t * dim + d);
  return bf16(tile.values[b], (t / 2 * dim + d) * 2 + t % 2);
}

// The place of element i of a quad in the order 0, 2, 1, 3.
size_t place(size_t i) { return i / 4 * 4 + (i % 4 == 1 ? 2 : i % 4 == 2 ? 1 : i % 4); }

template <DType kType>
float score(const SegmentTile& tile, size_t r, size_t b, size_t t) {
  if constexpr (kType == DType::kI8) {
    const int16_t* queries = static_cast<const int16_t*>(tile.queries);
    int32_t sum = tile.query_corrections[r];
    for (size_t d = 0; d < to_size(tile.padded_dim); ++d) {
      const int32_t code = load<uint8_t>(tile.keys[b], (d / 4 * kTokens + t) * 4 + d % 4);
      sum += code * queries[(d / 4 * kMaxTileRows + r) * 4 + place(d % 4)];
    }
    return static_cast<float>(sum) * tile.scales[b][t] * (tile.query_scales[r] * tile.scale);
  } else {
    const float* queries = static_cast<const float*>(tile.queries);
    float sum = 0;
    for (size_t d = 0; d < to_size(tile.padded_dim); ++d) {
      sum = std::fma(queries[d * kMaxTileRows + r], key<kType>(tile, b, t, d), sum);
    }
    return sum * tile.scale;
  }
}

template <DType kType>
void scores(const SegmentTile& tile) {
  for (size_t r = 0; r < to_size(tile.rows); ++r) {
    for (size_t i = 0; i < to_size(tile.blocks) * kTokens; ++i) {
      tile.scores[r * kSegmentTokens + i] = score<kType>(tile, r, i / kTokens, i % kTokens);
    }
  }
}

// exp.h, one lane.
float exp_scalar(float x) {
  if (x < kExpLowest) return 0;
  const float whole = std::nearbyint(x * kLog2E);
  const float r = std::fma(whole, -kLn2Low, std::fma(whole, -kLn2High, x));
  float p = kExpPolynomial[0];
  for (size_t i = 1; i < std::size(kExpPolynomial); ++i) p = std::fma(p, r, kExpPolynomial[i]);
  p = std::fma(p, r * r, r) + 1.0f;
  return p * std::ldexp(1.0f, static_cast<int>(whole));
}

float tree_sum(float* lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// p · value scale, rounded to 15-bit codes of the row's largest.
void quantize(const SegmentTile& tile, size_t r, float* p) {
  const size_t tokens = to_size(tile.blocks) * kTokens;
  float largest = 0;
  for (size_t i = 0; i < tokens; ++i) {
    p[i] *= tile.scales[i / kTokens][kTokens + i % kTokens];
    largest = std::max(largest, p[i]);
  }
  const float scale = largest / kMaxCode;
  const bool zero = !(scale >= std::numeric_limits<float>::min());
  const float inverse = zero ? 0.0f : 1.0f / scale;
  tile.code_scales[r] = zero ? 0.0f : scale;
  for (size_t i = 0; i < tokens; ++i) {
    const float code = std::min(std::nearbyint(p[i] * inverse), kMaxCode);
    tile.codes[r * kSegmentTokens + place(i)] = static_cast<int16_t>(code);
  }
}

template <DType kType>
void softmax(const SegmentTile& tile) {
  const size_t tokens = to_size(tile.blocks) * kTokens;
  for (size_t r = 0; r < to_size(tile.rows); ++r) {
    float* p = tile.scores + r * kSegmentTokens;
    float* tail = tile.partials + r * partial_stride(tile.padded_dim) + tile.padded_dim;
    const float largest = *std::max_element(p, p + tokens);
    float lanes[kLanes] = {};
    for (size_t i = 0; i < tokens; ++i) {
      p[i] = largest == kNothing ? 0.0f : exp_scalar(p[i] - largest);
      lanes[i % kLanes] += p[i];
    }
    tail[0] = largest;
    tail[1] = tree_sum(lanes);
    if constexpr (kType == DType::kI8) quantize(tile, r, p);
  }
}

template <DType kType>
float output(const SegmentTile& tile, size_t r, size_t d) {
  const size_t tokens = to_size(tile.blocks) * kTokens;
  if constexpr (kType == DType::kI8) {
    const size_t dim = to_size(tile.padded_dim);
    int32_t sum = 0;
    for (size_t i = 0; i < tokens; ++i) {
      const size_t t = i % kTokens;
      sum += tile.codes[r * kSegmentTokens + place(i)] *
             load<int8_t>(tile.values[i / kTokens], (t / 4 * dim + d) * 4 + t % 4);
    }
    return static_cast<float>(sum) * tile.code_scales[r];
  } else {
    float sum = 0;
    for (size_t i = 0; i < tokens; ++i) {
      sum = std::fma(tile.scores[r * kSegmentTokens + i],
                     value<kType>(tile, i / kTokens, i % kTokens, d), sum);
    }
    return sum;
  }
}

template <DType kType>
void values(const SegmentTile& tile) {
  for (size_t r = 0; r < to_size(tile.rows); ++r) {
    for (size_t d = 0; d < to_size(tile.padded_dim); ++d) {
      // Adding zero turns −0 into +0, which products with p = 0 may do or not.
      tile.partials[r * partial_stride(tile.padded_dim) + d] = output<kType>(tile, r, d) + 0.0f;
    }
  }
}

void merge(float* into, const float* next, int padded_dim) {
  const size_t dim = to_size(padded_dim);
  if (next[dim + 1] == 0) return;
  if (into[dim + 1] == 0) {
    std::copy_n(next, dim + 2, into);
    return;
  }
  const float largest = std::max(into[dim], next[dim]);
  const float old_factor = exp_scalar(into[dim] - largest);
  const float new_factor = exp_scalar(next[dim] - largest);
  for (size_t d = 0; d < dim; ++d) into[d] = into[d] * old_factor + next[d] * new_factor;
  into[dim] = largest;
  into[dim + 1] = into[dim + 1] * old_factor + next[dim + 1] * new_factor;
}

}  // namespace

const AttentionKernel attention_f32_reference = {
    "attention_f32_reference", Isa::kReference,     DType::kF32, scores<DType::kF32>,
    softmax<DType::kF32>,      values<DType::kF32>, merge};
const AttentionKernel attention_bf16_reference = {
    "attention_bf16_reference", Isa::kReference,      DType::kBF16, scores<DType::kBF16>,
    softmax<DType::kBF16>,      values<DType::kBF16>, merge};
const AttentionKernel attention_i8_reference = {
    "attention_i8_reference", Isa::kReference,    DType::kI8, scores<DType::kI8>,
    softmax<DType::kI8>,      values<DType::kI8>, merge};

}  // namespace adze::ops
