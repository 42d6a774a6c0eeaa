// Integers that were read from outside: every operation is checked, so that no sum or product of a
// file's or a request's numbers can wrap.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/error.h"

namespace adze {

// A non-negative count, size or offset from outside. Arithmetic throws Error{kInvalidInput} on
// overflow; `value()` gives the plain number once the caller has compared it with what is really
// there.
class CheckedSize {
 public:
  constexpr CheckedSize() = default;
  constexpr explicit CheckedSize(uint64_t value) : value_(value) {}

  // From a signed number: negative values throw.
  static CheckedSize from_signed(int64_t value) {
    if (value < 0) throw_invalid("negative size {}", value);
    return CheckedSize(static_cast<uint64_t>(value));
  }

  constexpr uint64_t value() const { return value_; }

  CheckedSize operator+(CheckedSize other) const {
    uint64_t result;
    if (__builtin_add_overflow(value_, other.value_, &result)) {
      throw_invalid("size overflow: {} + {}", value_, other.value_);
    }
    return CheckedSize(result);
  }
  CheckedSize operator-(CheckedSize other) const {
    if (other.value_ > value_) throw_invalid("size underflow: {} - {}", value_, other.value_);
    return CheckedSize(value_ - other.value_);
  }
  CheckedSize operator*(CheckedSize other) const {
    uint64_t result;
    if (__builtin_mul_overflow(value_, other.value_, &result)) {
      throw_invalid("size overflow: {} * {}", value_, other.value_);
    }
    return CheckedSize(result);
  }
  CheckedSize operator+(uint64_t other) const { return *this + CheckedSize(other); }
  CheckedSize operator*(uint64_t other) const { return *this * CheckedSize(other); }

  // Rounded up to a multiple of `alignment` (not zero).
  CheckedSize align_up(uint64_t alignment) const {
    const uint64_t rest = value_ % alignment;
    return rest == 0 ? *this : *this + CheckedSize(alignment - rest);
  }

  friend constexpr auto operator<=>(CheckedSize, CheckedSize) = default;

  // As a type that may be narrower; throws when it does not fit.
  template <class T>
  T as() const {
    static_assert(std::is_integral_v<T>);
    if (value_ > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
      throw_invalid("size {} is too large", value_);
    }
    return static_cast<T>(value_);
  }

 private:
  uint64_t value_ = 0;
};

}  // namespace adze
