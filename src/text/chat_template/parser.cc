#include "text/chat_template/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/expression_parser.h"

namespace adze::text::chat {
namespace {

using Words = std::initializer_list<std::string_view>;

class Parser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body run() {
    Body body = statements({});
    refuse_unknown();
    return body;
  }

 private:
  // Up to a block whose first word is one of `ends`, which stays the current token; up to the end
  // of the template where there are none.
  Body statements(Words ends) {
    const Nesting nesting(*this);
    Body body;
    while (true) {
      const Token& token = current();
      if (token.kind == TokenKind::kEndOfFile) {
        if (ends.size() == 0) return body;
        fail("unexpected end of template, expected '{}'", fmt::join(ends, "' or '"));
      }
      next();
      if (token.kind == TokenKind::kData) {
        auto statement = make(Kind::kText);
        statement->text = token.text;
        body.push_back(std::move(statement));
      } else if (token.text == "{{") {
        auto statement = make(Kind::kPrint);
        statement->expressions.push_back(tuple());
        expect_end("}}");
        body.push_back(std::move(statement));
      } else {
        if (std::any_of(ends.begin(), ends.end(), [&](auto word) { return at_name(word); })) {
          return body;
        }
        body.push_back(block());
        expect_end("%}");
      }
    }
  }

  // A body whose unknown names are refused even under a condition outside of it.
  Body framed_body_until(Words ends) {
    ++frame_;
    Body body = body_until(ends);
    --frame_;
    return body;
  }

  // A nested body: the rest of the opening block, statements, and the name that ended them.
  Body body_until(Words ends) {
    skip_operator(":");
    expect_end("%}");
    return statements(ends);
  }

  std::unique_ptr<Statement> make(Kind kind) const {
    auto statement = std::make_unique<Statement>();
    statement->kind = kind;
    statement->line = current().line;
    return statement;
  }

  std::unique_ptr<Statement> block() {
    struct Row {
      std::string_view tag;
      std::unique_ptr<Statement> (Parser::*parse)();
    };
    static constexpr Row kRows[] = {
        {"if", &Parser::if_block},
        {"for", &Parser::for_block},
        {"set", &Parser::set_block},
        {"macro", &Parser::macro_block},
        {"call", &Parser::call_block},
        {"filter", &Parser::filter_block},
        {"with", &Parser::with_block},
        {"generation", &Parser::generation_block},
        {"print", &Parser::print_block},
        {"break", &Parser::break_block},
        {"continue", &Parser::continue_block},
    };
    static constexpr std::string_view kMissing[] = {
        "extends", "include", "import", "from", "block", "do", "autoescape", "trans", "debug"};
    if (current().kind != TokenKind::kName) fail("tag name expected");
    const std::string& tag = current().text;
    for (const Row& row : kRows) {
      if (row.tag == tag) return (this->*row.parse)();
    }
    if (std::find(std::begin(kMissing), std::end(kMissing), tag) != std::end(kMissing)) {
      unsupported("the tag '{}'", tag);
    }
    fail("unknown tag '{}'", printable(tag));
  }

  std::unique_ptr<Statement> if_block() {
    auto statement = make(Kind::kIf);
    const size_t mark = unknown_mark();
    while (true) {
      next();  // if, elif
      statement->expressions.push_back(tuple(false));
      statement->bodies.push_back(body_until({"elif", "else", "endif"}));
      if (!at_name("elif")) break;
    }
    if (skip_name("else")) statement->bodies.push_back(body_until({"endif"}));
    next();
    forgive(mark);
    return statement;
  }

  std::unique_ptr<Statement> for_block() {
    auto statement = make(Kind::kFor);
    next();
    statement->targets.push_back(target_list("in"));
    if (!skip_name("in")) fail("expected 'in'");
    statement->expressions.push_back(tuple(false, "recursive"));
    statement->expressions.push_back(skip_name("if") ? expression() : nullptr);
    statement->recursive = skip_name("recursive");
    ++loops_;
    statement->bodies.push_back(framed_body_until({"endfor", "else"}));
    --loops_;
    if (skip_name("else")) statement->bodies.push_back(framed_body_until({"endfor"}));
    next();
    return statement;
  }

  std::unique_ptr<Statement> set_block() {
    auto statement = make(Kind::kSet);
    next();
    Target target;
    if (current().kind == TokenKind::kName && peek_is_operator(".")) {
      target.name = assignable_name();
      next();  // .
      target.attribute = expect_name();
    } else {
      target = target_list("");
    }
    statement->targets.push_back(std::move(target));
    if (skip_operator("=")) {
      statement->expressions.push_back(tuple());
      return statement;
    }
    statement->kind = Kind::kSetBlock;
    statement->expressions.push_back(filters(nullptr));
    statement->bodies.push_back(framed_body_until({"endset"}));
    next();
    return statement;
  }

  // Inside a macro's body the loops around it are out of reach.
  Body macro_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = framed_body_until({end});
    loops_ = loops;
    next();
    return body;
  }

  void signature(MacroNode& macro) {
    expect_operator("(");
    while (!at_operator(")")) {
      if (!macro.parameters.empty()) expect_operator(",");
      macro.parameters.push_back(assignable_name());
      if (skip_operator("=")) {
        macro.defaults.push_back(expression());
      } else if (!macro.defaults.empty()) {
        fail("non-default argument follows default argument");
      }
    }
    next();
  }

  std::unique_ptr<MacroNode> make_macro(std::string name) const {
    auto macro = std::make_unique<MacroNode>();
    macro->name = std::move(name);
    macro->line = current().line;
    return macro;
  }

  std::unique_ptr<Statement> macro_block() {
    auto statement = make(Kind::kMacro);
    next();
    auto macro = make_macro(assignable_name());
    signature(*macro);
    finish_macro(*macro, "endmacro");
    statement->macro = std::move(macro);
    return statement;
  }

  void finish_macro(MacroNode& macro, std::string_view end) {
    const Names around = std::exchange(names_, {});
    macro.body = macro_body(end);
    macro.uses_caller = names_.caller;
    macro.uses_varargs = names_.varargs;
    macro.uses_kwargs = names_.kwargs;
    // To Jinja a macro mentions what one inside it does.
    names_.caller = names_.caller || around.caller;
    names_.varargs = names_.varargs || around.varargs;
    names_.kwargs = names_.kwargs || around.kwargs;
  }

  std::unique_ptr<Statement> call_block() {
    auto statement = make(Kind::kCallBlock);
    next();
    auto macro = make_macro("caller");
    if (at_operator("(")) signature(*macro);
    statement->expressions.push_back(expression());
    if (statement->expressions[0]->op != Op::kCall) fail("expected call");
    finish_macro(*macro, "endcall");
    statement->macro = std::move(macro);
    return statement;
  }

  std::unique_ptr<Statement> filter_block() {
    auto statement = make(Kind::kFilterBlock);
    next();
    statement->expressions.push_back(filters(nullptr, true));
    statement->bodies.push_back(framed_body_until({"endfilter"}));
    next();
    return statement;
  }

  std::unique_ptr<Statement> with_block() {
    auto statement = make(Kind::kWith);
    next();
    while (current().kind != TokenKind::kEnd) {
      if (!statement->targets.empty()) expect_operator(",");
      statement->targets.push_back(target());
      expect_operator("=");
      statement->expressions.push_back(expression());
    }
    statement->bodies.push_back(framed_body_until({"endwith"}));
    next();
    return statement;
  }

  std::unique_ptr<Statement> generation_block() {
    auto statement = make(Kind::kScope);
    next();
    statement->bodies.push_back(macro_body("endgeneration"));
    return statement;
  }

  std::unique_ptr<Statement> print_block() {
    auto statement = make(Kind::kPrint);
    next();
    while (current().kind != TokenKind::kEnd) {
      if (!statement->expressions.empty()) expect_operator(",");
      statement->expressions.push_back(expression());
    }
    return statement;
  }

  std::unique_ptr<Statement> loop_control(Kind kind) {
    auto statement = make(kind);
    if (loops_ == 0) fail("'{}' outside loop", current().text);
    next();
    return statement;
  }
  std::unique_ptr<Statement> break_block() { return loop_control(Kind::kBreak); }
  std::unique_ptr<Statement> continue_block() { return loop_control(Kind::kContinue); }

  std::string assignable_name() {
    static constexpr std::string_view kReserved[] = {"true", "false", "none",
                                                     "True", "False", "None"};
    const std::string name = expect_name();
    if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
      fail("can't assign to '{}'", name);
    }
    return name;
  }

  Target target() {
    const Nesting nesting(*this);
    if (skip_operator("(")) {
      Target inner = target_list(")");
      expect_operator(")");
      return inner;
    }
    return {.name = assignable_name(), .attribute = "", .elements = {}};
  }

  // One target or several with commas, up to the word or operator `end`.
  Target target_list(std::string_view end) {
    Target list;
    bool is_tuple = false;
    while (true) {
      list.elements.push_back(target());
      if (!skip_operator(",")) break;
      is_tuple = true;
      const bool ended = current().kind == TokenKind::kEnd || at_operator("=") ||
                         (!end.empty() && current().text == end);
      if (ended) break;
    }
    if (is_tuple) return list;
    Target only = std::move(list.elements[0]);
    return only;
  }

  int loops_ = 0;
};

}  // namespace

Body parse(const std::vector<Token>& tokens, const std::string& name) {
  return Parser(tokens, name).run();
}

}  // namespace adze::text::chat
