// The one exception type of the project.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace adze {

enum class ErrorKind {
  kInvalidInput,       // a file, a request or a flag is wrong
  kUnsupported,        // well-formed, but nothing here can handle it
  kResourceExhausted,  // memory, disk, cache blocks, a budget
  kUnavailable,        // shutting down, a peer is gone, I/O failed
  kInternal,           // a defect of this program
};

// What went wrong with something that came from outside. The message is one line that names the
// file and offset, or the field, and is fit to show to a user. Programmer mistakes are assertions,
// not Errors.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind error_kind, const std::string& message)
      : std::runtime_error(message), kind_(error_kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

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
