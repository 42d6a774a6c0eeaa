// Operations on text that filters and methods share.
#pragma once

#include "text/chat_template/context.h"

namespace adze::text::chat {

// The text with & < > ' and " as HTML entities; markup is left as it is. The result is markup.
String escape_text(Context& context, const String& text);
String markup(String text);
// Markup if `model` is: what Markup's methods return.
Value text_like(Context& context, const String& model, String text);

// str.strip(): whitespace, or the characters of `characters`, which may be null.
Value strip_text(Context& context, const String& text, const String* characters, bool left,
                 bool right);

// str.splitlines(): bytes [begin, end) of each line; the next one begins at `next`.
struct Line {
  size_t begin;
  size_t end;
  size_t next;
};
std::vector<Line> find_lines(Context& context, std::string_view text);

// str.replace(), of all where `count` is negative. New text keeps its ranges.
String replace_text(Context& context, const String& text, const String& from, const String& to,
                    int64_t count);

}  // namespace adze::text::chat
