// A template's tokens as statements.
#pragma once

#include <string>
#include <vector>

#include "text/chat_template/ast.h"
#include "text/chat_template/lexer.h"

namespace adze::text::chat {

// Jinja's grammar with the loop controls. Throws Error{kInvalidInput} where Jinja reports a syntax
// error, Error{kUnsupported} for what is Jinja's but not here, Error{kResourceExhausted} for
// nesting beyond Limits::kParserDepth.
Body parse(const std::vector<Token>& tokens, const std::string& name);

}  // namespace adze::text::chat
