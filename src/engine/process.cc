#include "engine/process.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

namespace adze::engine {

std::optional<uint64_t> peak_resident_bytes() {
  // Not getrusage's maximum: that one begins with what the parent held when it forked.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return std::nullopt;
}

std::optional<double> seconds_since_start() {
  // Field 22 of /proc/self/stat: start time in ticks since boot; the command name before it may
  // hold blanks.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/stat", "r"),
                                                             std::fclose);
  if (!file) return std::nullopt;
  char text[1024];
  const size_t size = std::fread(text, 1, sizeof text - 1, file.get());
  std::string fields(text, size);
  size_t position = fields.rfind(')') + 1;
  for (int field = 3; field < 22 && position != std::string::npos; ++field) {
    position = fields.find(' ', position + 1);
  }
  if (position == std::string::npos) return std::nullopt;
  const double started =
      std::stod(fields.substr(position)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - started;
}

}  // namespace adze::engine
