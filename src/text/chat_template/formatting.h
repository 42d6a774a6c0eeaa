// Python's ways to lay values out as text: str.format(), the % operator, and what both share with
// str.ljust() and its kin. Text that is placed keeps its ranges of input; numbers of the request
// become input as a whole.
#pragma once

#include <string_view>

#include "text/chat_template/context.h"

namespace adze::text::chat {

// format(value, spec)
String format_value(Context& context, const Value& value, std::string_view spec);

// format.format(*positional, **keywords), where fields reach attributes and items only as the
// template itself could. Of markup, what is filled in is escaped.
String format_text(Context& context, const String& format, const Arguments& arguments);

// format % arguments
String format_percent(Context& context, const String& format, const Value& arguments);

// `text` with `fill`, one character, around it so that it has `width` characters: to its right for
// '<', to its left for '>', on both sides for '^' with the odd one at the right. With 'c' the odd
// one is where str.center() has it: at the left if `width` is odd.
String pad_text(Context& context, const String& text, int64_t width, const String& fill,
                char align);

}  // namespace adze::text::chat
