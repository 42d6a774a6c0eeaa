// What a CPU can do at most: loops of nothing but the instructions that the kernels are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/kernel_table.h"

namespace adze::ops {

// One thread each; the caller times them. Operations are multiplications and additions.
struct LimitKernels {
  // Dot products of unsigned with signed bytes, all from registers; gives the operations done.
  double (*int8)(int64_t rounds) = nullptr;
  // Fused multiply-adds of float32, all from registers; gives the operations done.
  double (*f32)(int64_t rounds) = nullptr;
  // Reads all of `bytes` (a multiple of 1024, aligned to 64); gives a number that depends on each.
  uint64_t (*read)(std::span<const std::byte> bytes) = nullptr;
};

std::span<const KernelTable<LimitKernels>> limit_kernel_tables();
const LimitKernels& limit_kernels(Isa isa);

extern const LimitKernels kLimitsReference;
extern const LimitKernels kLimitsAvx2;
extern const LimitKernels kLimitsAvx512;
extern const LimitKernels kLimitsAmx;

}  // namespace adze::ops
