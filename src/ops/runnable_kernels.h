// For the kernels' tests: what this machine can run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/kernel_table.h"

namespace adze::ops {

template <class Kernels>
struct NamedKernels {
  std::string name;
  const Kernels* kernels;
};

// The tables whose instruction set is available, and the AVX-512 kernels through SIMDe where there
// is AVX2.
template <class Kernels>
std::vector<NamedKernels<Kernels>> runnable_kernels(std::span<const KernelTable<Kernels>> tables,
                                                    const Kernels& emulated) {
  std::vector<NamedKernels<Kernels>> found;
  for (const auto& table : tables) {
    if (isa_available(table.isa)) {
      found.push_back({std::string(isa_name(table.isa)), table.kernels});
    }
  }
  if (isa_available(Isa::kAvx2)) found.push_back({"avx512 emulated", &emulated});
  return found;
}

}  // namespace adze::ops
