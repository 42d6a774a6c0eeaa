#include "text/chat_template/lexer.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "text/chat_template/python_text.h"

namespace adze::text::chat {
namespace {

constexpr std::string_view kWhitespace = " \t\n\r\f\v";

bool is_space(char c) { return kWhitespace.find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

// \r\n and \r as \n, without the last one.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name)
      : source_(normalize_newlines(source)), rest_(source_), name_(name) {}

  std::vector<Token> run() {
    while (position_ < source_.size()) {
      const size_t tag = find_tag();
      if (tag == std::string::npos) {
        add_data(source_.size(), source_.size());
        break;
      }
      open_tag(tag);
    }
    add(TokenKind::kEndOfFile, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw_invalid("{}: chat template: line {}: {}", printable(name_, kMaxPathBytes), line_,
                  message);
  }
  bool at(std::string_view text, size_t position) const {
    return rest_.substr(std::min(position, rest_.size())).starts_with(text);
  }
  char peek(size_t position) const { return position < source_.size() ? source_[position] : '\0'; }

  size_t find_tag() const {
    for (size_t at = source_.find('{', position_); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      const char next = peek(at + 1);
      if (next == '%' || next == '{' || next == '#') return at;
    }
    return std::string::npos;
  }

  void add(TokenKind kind, std::string text) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }

  // Moves on to `end`, counting lines.
  void advance(size_t end) {
    const auto newline = [](char c) { return c == '\n'; };
    line_ +=
        static_cast<int>(std::count_if(source_.begin() + static_cast<ptrdiff_t>(position_),
                                       source_.begin() + static_cast<ptrdiff_t>(end), newline));
    if (end > position_) line_starting_ = source_[end - 1] == '\n';
    position_ = end;
  }

  // The text from here up to `text_end`, then moves on to `end`.
  void add_data(size_t text_end, size_t end) {
    if (text_end > position_)
      add(TokenKind::kData, source_.substr(position_, text_end - position_));
    advance(end);
  }

  // Where the text in front of the tag at `tag` ends, by its sign and lstrip_blocks.
  size_t text_end(size_t tag, char sign, bool is_block) const {
    const std::string_view text = rest_.substr(position_, tag - position_);
    if (sign == '-') {
      const size_t last = text.find_last_not_of(kWhitespace);
      return last == std::string_view::npos ? position_ : position_ + last + 1;
    }
    if (sign == '+' || !is_block) return tag;
    const size_t newline = text.rfind('\n');
    const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
    const bool starts_line = line_begin > 0 || line_starting_;
    const bool blank = text.find_first_not_of(kWhitespace, line_begin) == std::string_view::npos;
    return starts_line && blank ? position_ + line_begin : tag;
  }

  size_t skip_space(size_t position) const {
    while (position < source_.size() && is_space(source_[position])) ++position;
    return position;
  }

  // Behind a tag's end at `position` (`%}`, `+%}`, `-%}` and what they trim), or npos.
  size_t tag_end(size_t position, std::string_view end, bool trim) const {
    if (peek(position) == '-' && at(end, position + 1)) {
      return skip_space(position + 1 + end.size());
    }
    if (trim && peek(position) == '+' && at(end, position + 1)) return position + 1 + end.size();
    if (!at(end, position)) return std::string::npos;
    position += end.size();
    return trim && peek(position) == '\n' ? position + 1 : position;
  }

  void open_tag(size_t tag) {
    const char kind = source_[tag + 1];
    const char sign = peek(tag + 2) == '-' || peek(tag + 2) == '+' ? source_[tag + 2] : '\0';
    const size_t inner = tag + 2 + (sign ? 1 : 0);
    const size_t end_of_text = text_end(tag, sign, kind != '{');
    if (kind == '#') {
      add_data(end_of_text, inner);
      comment();
    } else if (const size_t raw = kind == '%' ? raw_begin(inner) : std::string::npos;
               raw != std::string::npos) {
      add_data(end_of_text, raw);
      raw_block();
    } else {
      add_data(end_of_text, inner);
      add(TokenKind::kBegin, kind == '%' ? "{%" : "{{");
      inside(kind == '%' ? "%}" : "}}");
    }
  }

  void comment() {
    for (size_t at = position_; at < source_.size(); ++at) {
      const size_t end = tag_end(at, "#}", true);
      if (end != std::string::npos) return advance(end);
    }
    fail("Missing end of comment tag");
  }

  size_t keyword(size_t position, std::string_view word) const {
    position = skip_space(position);
    return at(word, position) ? skip_space(position + word.size()) : std::string::npos;
  }

  // Behind `raw %}`, which trims only with a minus, or npos.
  size_t raw_begin(size_t inner) const {
    const size_t end = keyword(inner, "raw");
    return end == std::string::npos ? end : tag_end(end, "%}", false);
  }

  void raw_block() {
    for (size_t tag = source_.find("{%", position_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const char sign = peek(tag + 2) == '-' || peek(tag + 2) == '+' ? source_[tag + 2] : '\0';
      size_t end = keyword(tag + 2 + (sign ? 1 : 0), "endraw");
      if (end != std::string::npos) end = tag_end(end, "%}", true);
      if (end != std::string::npos) return add_data(text_end(tag, sign, true), end);
    }
    fail("Missing end of raw directive");
  }

  void inside(std::string_view end_tag) {
    std::string open;  // brackets
    while (position_ < source_.size()) {
      const size_t end = tag_end(position_, end_tag, end_tag == "%}");
      if (open.empty() && end != std::string::npos) {
        add(TokenKind::kEnd, std::string(end_tag));
        return advance(end);
      }
      const char c = source_[position_];
      if (is_space(c)) {
        advance(skip_space(position_));
      } else if (is_digit(c)) {
        number();
      } else if (is_name_start(c)) {
        size_t stop = position_;
        while (is_name(peek(stop))) ++stop;
        add(TokenKind::kName, source_.substr(position_, stop - position_));
        advance(stop);
      } else if (c == '\'' || c == '"') {
        quoted(c);
      } else {
        operation(open);
      }
    }
    fail("unexpected end of template inside a tag");
  }

  // Behind the digits from `position`, which underscores may join.
  size_t digits(size_t position, bool (*accept)(char)) const {
    while (accept(peek(position)) || (peek(position) == '_' && accept(peek(position + 1)))) {
      ++position;
    }
    return position;
  }

  void number() {
    const size_t whole = digits(position_, is_digit);
    size_t end = whole;
    const bool after_dot = position_ > 0 && source_[position_ - 1] == '.';
    if (!after_dot && peek(end) == '.' && is_digit(peek(end + 1))) end = digits(end + 1, is_digit);
    if (const char e = peek(end); !after_dot && (e == 'e' || e == 'E')) {
      const size_t sign = peek(end + 1) == '+' || peek(end + 1) == '-' ? 1 : 0;
      if (is_digit(peek(end + 1 + sign))) end = digits(end + 1 + sign, is_digit);
    }
    if (end != whole) {
      std::string text = source_.substr(position_, end - position_);
      std::erase(text, '_');
      add(TokenKind::kFloat, text);
      tokens_.back().number = std::strtod(text.c_str(), nullptr);
      return advance(end);
    }
    integer();
  }

  void integer() {
    int base = 10;
    size_t begin = position_;
    size_t end = begin;
    const char prefix = static_cast<char>(peek(position_ + 1) | 0x20);
    const auto hex = [](char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); };
    if (source_[position_] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
      base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
      begin += 2;
      end = prefix == 'x'   ? digits(begin, hex)
            : prefix == 'o' ? digits(begin, [](char c) { return c >= '0' && c <= '7'; })
                            : digits(begin, [](char c) { return c == '0' || c == '1'; });
      if (end == begin) fail("a number without digits");
    } else {
      end = source_[position_] == '0' ? digits(begin, [](char c) { return c == '0'; })
                                      : digits(begin, is_digit);
    }
    std::string text = source_.substr(begin, end - begin);
    std::erase(text, '_');
    const std::optional<int64_t> value = parse_int(text, base);
    if (!value) fail("an integer that does not fit in 64 bits");
    add(TokenKind::kInteger, text);
    tokens_.back().integer = *value;
    advance(end);
  }

  void quoted(char quote) {
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a string without its end");
    std::string error;
    std::string value = unescape(rest_.substr(position_ + 1, end - position_ - 1), error);
    if (!error.empty()) fail(error);
    add(TokenKind::kString, std::move(value));
    advance(end + 1);
  }

  void operation(std::string& open) {
    static constexpr std::array<std::string_view, 26> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](std::string_view text) { return at(text, position_); });
    if (found == kOperators.end()) {
      fail(fmt::format("unexpected char '{}'", printable(rest_.substr(position_, 1))));
    }
    const char c = (*found)[0];
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : static_cast<char>(c + 2);
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) fail(fmt::format("unexpected '{}'", c));
      if (open.back() != c) fail(fmt::format("unexpected '{}', expected '{}'", c, open.back()));
      open.pop_back();
    }
    add(TokenKind::kOperator, std::string(*found));
    advance(position_ + found->size());
  }

  const std::string source_;
  const std::string_view rest_;
  const std::string& name_;
  size_t position_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const std::string& name) {
  return Lexer(source, name).run();
}

}  // namespace adze::text::chat
