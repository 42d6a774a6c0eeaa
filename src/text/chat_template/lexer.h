// A template's source as tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adze::text::chat {

enum class TokenKind {
  kData,   // text outside of tags, whitespace control applied
  kBegin,  // {% or {{
  kEnd,    // %} or }}
  kName,
  kString,  // escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEndOfFile,
};

struct Token {
  TokenKind kind;
  int line;
  std::string text;  // data, name, string's value, operator; "{%" or "{{" and its end
  int64_t integer = 0;
  double number = 0;
};

// Jinja's delimiters with trim_blocks, lstrip_blocks and without keep_trailing_newline, raw blocks
// and comments removed; ends with kEndOfFile. Throws Error{kInvalidInput} with the line.
std::vector<Token> tokenize(std::string_view source, const std::string& name);

}  // namespace adze::text::chat
