// UTF-8 from its definition (Unicode 15, section 3.9), by code points rather than by tables of
// bytes: what the program's own decoder is compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace adze::fuzz {

// How many bytes a sequence with this first byte has; 0 where none begins with it.
inline size_t sequence_length(uint8_t first) {
  if (first < 0x80) return 1;
  return first >> 5 == 0x6 ? 2 : first >> 4 == 0xe ? 3 : first >> 3 == 0x1e ? 4 : 0;
}

// Are the bytes one character: complete, in its shortest form, no surrogate, below U+110000?
inline bool is_character(std::string_view bytes) {
  if (bytes.empty()) return false;
  const size_t length = sequence_length(static_cast<uint8_t>(bytes[0]));
  if (length == 0 || length != bytes.size()) return false;
  if (length == 1) return true;
  uint32_t point = static_cast<uint8_t>(bytes[0]) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte >> 6 != 2) return false;
    point = point << 6 | (byte & 63u);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  return point >= least && point < 0x110000 && !(point >= 0xd800 && point < 0xe000);
}

// Do the bytes begin some character, or are they one? What may follow a beginning is one range of
// bytes, so its two ends stand for all.
inline bool begins_character(std::string_view bytes) {
  if (bytes.empty()) return false;
  const size_t length = sequence_length(static_cast<uint8_t>(bytes[0]));
  if (length < bytes.size()) return false;
  for (const char fill : {'\x80', '\xbf'}) {
    std::string whole(bytes);
    whole.resize(length, fill);
    if (is_character(whole)) return true;
  }
  return false;
}

struct ReferenceStep {
  bool valid;
  size_t length;  // of the character, or of the maximal subpart
};

inline ReferenceStep reference_step(std::string_view bytes) {
  const size_t most = std::min<size_t>(bytes.size(), 4);
  for (size_t length = 1; length <= most; ++length) {
    if (is_character(bytes.substr(0, length))) return {true, length};
  }
  size_t subpart = 1;
  while (subpart < most && begins_character(bytes.substr(0, subpart + 1))) ++subpart;
  return {false, subpart};
}

inline bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const ReferenceStep step = reference_step(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.length);
  }
  return true;
}

// U+FFFD for each maximal subpart that is not UTF-8.
inline std::string reference_replace(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const ReferenceStep step = reference_step(bytes);
    out += step.valid ? bytes.substr(0, step.length) : std::string_view("\xef\xbf\xbd");
    bytes.remove_prefix(step.length);
  }
  return out;
}

}  // namespace adze::fuzz
