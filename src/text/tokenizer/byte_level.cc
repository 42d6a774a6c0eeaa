#include "text/tokenizer/byte_level.h"

#include <array>

namespace adze::text {
namespace {

struct ByteLevelTable {
  std::array<std::array<char, 2>, 256> spelling{};
  std::array<uint8_t, 256> spelling_length{};
  // By code point; −1: spells no byte. The highest is 256 + 67.
  std::array<int16_t, 324> byte_of{};

  ByteLevelTable() {
    byte_of.fill(-1);
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      // Printable Latin-1 characters stand for themselves, the rest move up beyond 255 in order.
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
                             (byte >= 0xae && byte <= 0xff);
      const uint32_t codepoint = printable ? byte : next++;
      byte_of[codepoint] = static_cast<int16_t>(byte);
      if (codepoint < 0x80) {
        spelling[byte] = {static_cast<char>(codepoint), 0};
        spelling_length[byte] = 1;
      } else {
        spelling[byte] = {static_cast<char>(0xc0 | (codepoint >> 6)),
                          static_cast<char>(0x80 | (codepoint & 0x3f))};
        spelling_length[byte] = 2;
      }
    }
  }
};

const ByteLevelTable& table() {
  static const ByteLevelTable instance;
  return instance;
}

}  // namespace

std::string_view byte_level_spelling(uint8_t byte) {
  return {table().spelling[byte].data(), table().spelling_length[byte]};
}

void append_byte_level(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) out += byte_level_spelling(static_cast<uint8_t>(byte));
}

std::optional<std::string> decode_byte_level(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t codepoint = static_cast<uint8_t>(text[i]);
    if (codepoint >= 0x80) {
      // Only two-byte characters spell bytes.
      if ((codepoint & 0xe0) != 0xc0 || i + 1 == text.size()) return std::nullopt;
      const auto second = static_cast<uint8_t>(text[++i]);
      if ((second & 0xc0) != 0x80) return std::nullopt;
      codepoint = ((codepoint & 0x1f) << 6) | (second & 0x3f);
    }
    if (codepoint >= table().byte_of.size() || table().byte_of[codepoint] < 0) return std::nullopt;
    bytes += static_cast<char>(table().byte_of[codepoint]);
  }
  return bytes;
}

}  // namespace adze::text
