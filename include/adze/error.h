// How functions of adze fail.
#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace adze
