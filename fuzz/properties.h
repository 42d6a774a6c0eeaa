// What the fuzz targets share: how a property is stated, and what counts as a clean refusal.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <span>
#include <string_view>

#include "base/error.h"
#include "fuzz/utf8_reference.h"

namespace adze::fuzz {

// Ends the process where a property does not hold, which libFuzzer takes for a finding.
inline void require(bool holds, std::string_view property,
                    std::source_location place = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: does not hold: %.*s\n", place.file_name(), place.line(),
               static_cast<int>(property.size()), property.data());
  std::abort();
}

// A refusal is one line of text, and never the program's own mistake.
inline void require_clean(const Error& error) {
  const std::string_view message = error.what();
  require(!message.empty() && message.find('\n') == std::string_view::npos, "one line of message");
  require(is_utf8(message), "messages are UTF-8");
  require(error.kind() != ErrorKind::kInternal, "input is no internal error");
}

// Does `work` end without an Error? Any other exception is a finding.
template <class Work>
bool succeeds(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    require_clean(error);
    return false;
  }
}

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace adze::fuzz
