// Elementwise operations on float32, `count` of them; the same bits on every instruction set. `out`
// may be an operand.
#pragma once

#include <cstdint>
#include <span>

#include "ops/kernel_table.h"

namespace adze::ops {

struct ElementwiseKernels {
  // out[i] = a[i] + b[i], a[i] · b[i]
  void (*add)(const float* a, const float* b, int64_t count, float* out) = nullptr;
  void (*multiply)(const float* a, const float* b, int64_t count, float* out) = nullptr;
  // out[i] = a[i] + b, a[i] · b
  void (*add_scalar)(const float* a, float b, int64_t count, float* out) = nullptr;
  void (*multiply_scalar)(const float* a, float b, int64_t count, float* out) = nullptr;
  // out[i] = x[i] / (1 + e^−x[i])
  void (*silu)(const float* x, int64_t count, float* out) = nullptr;
  // out[i] = x[i] · Φ(x[i]) by the approximation with tanh
  void (*gelu_tanh)(const float* x, int64_t count, float* out) = nullptr;
  // out[i] = activation(gate[i]) · up[i]: the bits of activation and multiply one after the other
  void (*silu_multiply)(const float* gate, const float* up, int64_t count, float* out) = nullptr;
  void (*gelu_tanh_multiply)(const float* gate, const float* up, int64_t count,
                             float* out) = nullptr;
};

std::span<const KernelTable<ElementwiseKernels>> elementwise_kernel_tables();
const ElementwiseKernels& elementwise_kernels(Isa isa);

// The tables, one per kernel file.
extern const ElementwiseKernels kElementwiseReference;
extern const ElementwiseKernels kElementwiseAvx2;
extern const ElementwiseKernels kElementwiseAvx512;

}  // namespace adze::ops
