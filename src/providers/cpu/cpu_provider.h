// The CPU: kernels of src/ops, chosen by instruction set when a plan is made.
#pragma once

#include <memory>

#include "base/cpu.h"
#include "graph/provider.h"
#include "ops/attention/cache_layout.h"

namespace adze::providers {

struct CpuOptions {
  Isa isa = Isa::kReference;
  ops::CacheDType cache_dtype = ops::CacheDType::kBF16;
};

// Runs every operator that graph/operators.cc declares, where head_dim is a multiple of 16.
std::unique_ptr<graph::Provider> make_cpu_provider(const CpuOptions& options);

}  // namespace adze::providers
