// What the operating system says about this process; nothing where /proc cannot be read.
#pragma once

#include <cstdint>
#include <optional>

namespace adze::engine {

// The most memory that was resident at once, bytes.
std::optional<uint64_t> peak_resident_bytes();
// Seconds since the process began, as the system counts them (hundredths).
std::optional<double> seconds_since_start();

}  // namespace adze::engine
