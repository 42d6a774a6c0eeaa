#include "text/tokenizer/unicode.h"

#include <utf8proc.h>

#include <vector>

namespace adze::text {
namespace {

bool is_white_space(uint32_t codepoint, utf8proc_category_t category) {
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP || (codepoint >= 0x09 && codepoint <= 0x0d) ||
         codepoint == 0x85;
}

uint8_t class_of(uint32_t codepoint) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(codepoint));
  if (is_white_space(codepoint, category)) return kBlank;
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuationMark;
    default:
      return 0;
  }
}

std::vector<uint8_t> all_classes() {
  std::vector<uint8_t> classes(0x110000);
  for (uint32_t codepoint = 0; codepoint < classes.size(); ++codepoint) {
    classes[codepoint] = class_of(codepoint);
  }
  return classes;
}

}  // namespace

uint8_t character_class(uint32_t codepoint) {
  static const std::vector<uint8_t> classes = all_classes();
  return classes[codepoint];
}

bool is_word_character(uint32_t codepoint) {
  // Letters and letter numbers stand for Alphabetic here, whose other members are marks and
  // circled letters.
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(codepoint));
  return (class_of(codepoint) & (kLetter | kMark)) != 0 || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC ||
         (codepoint >= 0x24b6 && codepoint <= 0x24e9) || codepoint == 0x200c || codepoint == 0x200d;
}

}  // namespace adze::text
