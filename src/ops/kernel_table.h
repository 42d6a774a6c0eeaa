// The kernels of one operator, by instruction set. Each operator's kernels.inc lists its tables, a
// line each; selection and tests go by that list.
#pragma once

#include <span>

#include "base/cpu.h"
#include "base/error.h"

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
  throw_internal("an operator has no kernels for {}", isa_name(isa));
}

}  // namespace adze::ops
