// What the operating system says about this process.
#pragma once

#include <cstdint>

namespace adze::engine {

// The most memory that was resident at once, bytes.
uint64_t peak_resident_bytes();
// Seconds since the process began, as the system counts them (hundredths).
double seconds_since_start();

}  // namespace adze::engine
