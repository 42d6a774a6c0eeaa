// The UTF-8 decoder against the definition.
#include "base/utf8.h"

#include "fuzz/properties.h"

using namespace adze;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view whole = fuzz::as_text(data, size);
  size_t valid = 0;
  bool all_valid = true;
  for (std::string_view rest = whole; !rest.empty();) {
    const Utf8Step step = utf8_step(rest);
    const fuzz::ReferenceStep expected = fuzz::reference_step(rest);
    fuzz::require(step.length == expected.length, "length of a step");
    fuzz::require((step.status == Utf8Status::kValid) == expected.valid, "valid characters");
    if (expected.valid) {
      const Character character = decode_utf8(rest, 0);
      fuzz::require(character.length == step.length, "length of a character");
      fuzz::require(encode_utf8(character.codepoint) == rest.substr(0, step.length), "encoding");
    }
    const bool may_go_on = step.length == rest.size() && fuzz::begins_character(rest);
    fuzz::require((step.status == Utf8Status::kIncomplete) == (may_go_on && !expected.valid),
                  "incomplete characters");
    all_valid = all_valid && expected.valid;
    if (all_valid) valid += expected.length;
    rest.remove_prefix(step.length);
  }
  fuzz::require(utf8_valid_prefix(whole) == valid, "the valid prefix");
  fuzz::require(replace_invalid_utf8(whole) == fuzz::reference_replace(whole),
                "U+FFFD for each maximal subpart");
  return 0;
}
