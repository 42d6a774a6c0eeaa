// The printable spelling of bytes that GPT-2 introduced and most byte-level vocabularies use: every
// byte has one Unicode character, so that token texts are ordinary strings ("Ġthe" is " the").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace adze::text {

// The UTF-8 spelling of one byte (1 or 2 bytes long). The view is valid for ever.
std::string_view byte_level_spelling(uint8_t byte);

// The spelling of each byte of `bytes`, appended to `out`.
void append_byte_level(std::string_view bytes, std::string& out);

// The bytes that `text` spells; nothing where it has a character that spells none.
std::optional<std::string> decode_byte_level(std::string_view text);

}  // namespace adze::text
