#include "base/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace adze {
namespace {

struct LeadByte {
  uint8_t length;  // of the whole character; 0: cannot begin one
  uint8_t second_min;
  uint8_t second_max;
};

// Table 3-7 of the Unicode standard: well-formed UTF-8 byte sequences.
LeadByte lead_byte(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
  assert(!bytes.empty());
  const LeadByte lead = lead_byte(static_cast<uint8_t>(bytes[0]));
  if (lead.length == 0) return {Utf8Status::kInvalid, 1};
  for (size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Utf8Status::kIncomplete, i};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xbf;
    if (byte < min || byte > max) return {Utf8Status::kInvalid, i};
  }
  return {Utf8Status::kValid, lead.length};
}

size_t utf8_valid_prefix(std::string_view bytes) {
  size_t position = 0;
  while (position < bytes.size()) {
    if (bytes.size() - position >= sizeof(uint64_t)) {
      uint64_t block;
      std::memcpy(&block, bytes.data() + position, sizeof block);
      if ((block & 0x8080808080808080u) == 0) {
        position += sizeof block;
        continue;
      }
    }
    const Utf8Step step = utf8_step(bytes.substr(position));
    if (step.status != Utf8Status::kValid) break;
    position += step.length;
  }
  return position;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t valid = utf8_valid_prefix(bytes);
    text += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    text += kReplacementCharacter;
    bytes.remove_prefix(utf8_step(bytes).length);
  }
  return text;
}

std::string encode_utf8(uint32_t codepoint) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(codepoint), bytes);
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(length)};
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

}  // namespace adze
