// Numbers by Python's format specification and by the % operator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/chat_template/context.h"

namespace adze::text::chat {

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";  // one character
  char align = '\0';       // < > ^ = or none given
  char sign = '-';         // - + or space
  bool signless = true;    // no sign was given
  bool no_negative_zero = false;
  bool alternate = false;
  bool zeros = false;
  int64_t width = 0;
  char grouping = '\0';
  int64_t precision = -1;
  char type = '\0';
};

// Throws Error where `text` is no specification, or its width or precision is beyond what a render
// may use.
FormatSpec parse_format_spec(Context& context, std::string_view text, std::string_view type_name);

// A number, not padded to the left or right: that is the caller's, by spec.width. For '=', padding
// lies between sign and digits and is in the result.
std::string format_integer(Context& context, int64_t number, const FormatSpec& spec);
std::string format_float(Context& context, double number, const FormatSpec& spec);

}  // namespace adze::text::chat
