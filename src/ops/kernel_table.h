// The kernels of one operator, by instruction set. Each operator's kernels.inc lists its tables, a
// line each; selection, tests and benchmarks go by that list.
#pragma once

#include <cassert>
#include <span>

#include "base/cpu.h"

namespace adze::ops {

template <class Kernels>
struct KernelTable {
  Isa isa;
  const Kernels* kernels;
};

// Every operator has kernels of every instruction set.
template <class Kernels>
const Kernels& kernels_for(std::span<const KernelTable<Kernels>> tables, Isa isa) {
  for (const auto& table : tables) {
    if (table.isa == isa) return *table.kernels;
  }
  assert(false && "no kernels for the instruction set");
  return *tables.front().kernels;
}

}  // namespace adze::ops
