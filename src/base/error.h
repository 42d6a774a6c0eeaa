// The one exception type of the project, which is public, and how it is thrown.
#pragma once

#include <adze/error.h>
#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace adze {

// throw_invalid("{}: offset {}: …", path, offset)
[[noreturn]] void throw_error(ErrorKind kind, fmt::string_view format, fmt::format_args arguments);
template <class... Args>
[[noreturn]] void throw_invalid(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorKind::kInvalidInput, format, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void throw_unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorKind::kUnsupported, format, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void throw_exhausted(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorKind::kResourceExhausted, format, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void throw_unavailable(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorKind::kUnavailable, format, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void throw_internal(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorKind::kInternal, format, fmt::make_format_args(args...));
}

// Text from a file made fit for a one-line message: control characters and invalid UTF-8 escaped as
// \xNN, cut after `limit` bytes with "…".
std::string printable(std::string_view text, size_t limit = 80);
// The limit for names of files: an error must not lose the part that tells them apart.
inline constexpr size_t kMaxPathBytes = 4096;

}  // namespace adze
