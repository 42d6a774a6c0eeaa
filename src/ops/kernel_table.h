// The kernels of one operator, by instruction set. Each operator's kernels.inc lists its tables, a
// line each; selection and tests go by that list.
#pragma once

#include <span>

#include "base/cpu.h"

namespace adze::ops {

template <class Kernels>
struct KernelTable {
  Isa isa;
  const Kernels* kernels;
};

// The kernels of the best instruction set up to `isa`: not every operator gains from every one.
// Tables are in the order of Isa, the reference first.
template <class Kernels>
const KernelTable<Kernels>& best_table(std::span<const KernelTable<Kernels>> tables, Isa isa) {
  const KernelTable<Kernels>* best = &tables.front();
  for (const auto& table : tables) {
    if (table.isa <= isa) best = &table;
  }
  return *best;
}
template <class Kernels>
const Kernels& kernels_for(std::span<const KernelTable<Kernels>> tables, Isa isa) {
  return *best_table(tables, isa).kernels;
}

}  // namespace adze::ops
