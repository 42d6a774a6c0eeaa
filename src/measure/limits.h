// The limits of this machine, as its own threads find them.
#pragma once

#include <cstddef>

#include "base/cpu.h"
#include "base/thread_pool.h"

namespace adze::measure {

struct Limits {
  size_t read_bytes = 0;  // how much memory was read over and over
  double read_rate = 0;   // bytes per second
  double int8_rate = 0;   // multiplications and additions of bytes per second
  double f32_rate = 0;    // of float32
};

// All threads at once, the best of several tries; takes about a second. `bytes`: size of what is
// read, for a model that fits a cache is read faster than one that does not.
Limits measure_limits(ThreadPool& pool, Isa isa, size_t bytes);

}  // namespace adze::measure
