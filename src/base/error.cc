#include "base/error.h"

#include <utf8proc.h>

namespace adze {

void throw_error(ErrorKind kind, fmt::string_view format, fmt::format_args arguments) {
  throw Error(kind, fmt::vformat(format, arguments));
}

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  size_t position = 0;
  while (position < text.size()) {
    if (out.size() >= limit) return out + "…";
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + position;
    utf8proc_int32_t codepoint = -1;
    const auto length =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - position), &codepoint);
    const bool control = codepoint < 0x20 || (codepoint >= 0x7f && codepoint < 0xa0);
    if (length <= 0 || control) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[position]));
      position += 1;
    } else {
      out.append(text.substr(position, static_cast<size_t>(length)));
      position += static_cast<size_t>(length);
    }
  }
  return out;
}

}  // namespace adze
