#include "text/tokenizer/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace adze::text {
namespace {

int combining_class(utf8proc_int32_t codepoint) {
  return utf8proc_get_property(codepoint)->combining_class;
}

}  // namespace

std::string normalize_nfc(std::string_view text) {
  // Nothing below U+0300, whose first byte is 0xcc, changes or combines.
  const bool plain =
      std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0xcc; });
  if (plain) return std::string(text);

  std::vector<utf8proc_int32_t> codepoints;
  codepoints.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t position = 0; position < text.size();) {
    utf8proc_int32_t codepoint = 0;
    position += static_cast<size_t>(utf8proc_iterate(
        bytes + position, static_cast<utf8proc_ssize_t>(text.size() - position), &codepoint));
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto count =
        utf8proc_decompose_char(codepoint, parts, std::size(parts), UTF8PROC_DECOMPOSE, &boundary);
    if (count < 0) throw_internal("normalization: {}", utf8proc_errmsg(count));
    codepoints.insert(codepoints.end(), parts, parts + count);
  }
  // utf8proc's own reordering takes quadratic time in long runs of marks, so they are sorted here.
  const auto is_mark = [](utf8proc_int32_t codepoint) { return combining_class(codepoint) != 0; };
  for (auto run = codepoints.begin(); run != codepoints.end();) {
    run = std::find_if(run, codepoints.end(), is_mark);
    const auto end = std::find_if_not(run, codepoints.end(), is_mark);
    std::stable_sort(run, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    run = end;
  }
  const auto composed =
      utf8proc_normalize_utf32(codepoints.data(), static_cast<utf8proc_ssize_t>(codepoints.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (composed < 0) throw_internal("normalization: {}", utf8proc_errmsg(composed));

  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < composed; ++i) {
    utf8proc_uint8_t encoded[4];
    const auto length = utf8proc_encode_char(codepoints[static_cast<size_t>(i)], encoded);
    out.append(reinterpret_cast<const char*>(encoded), static_cast<size_t>(length));
  }
  return out;
}

}  // namespace adze::text
