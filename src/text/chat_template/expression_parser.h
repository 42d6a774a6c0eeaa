// Jinja's expressions, by recursive descent.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat_template/ast.h"
#include "text/chat_template/context.h"
#include "text/chat_template/lexer.h"

namespace adze::text::chat {

// The cursor over the tokens and the grammar of expressions.
class ExpressionParser {
 public:
  ExpressionParser(const std::vector<Token>& tokens, const std::string& name)
      : tokens_(tokens), template_name_(name) {}

 protected:
  // The special names that the source since the last exchange mentions.
  struct Names {
    bool caller = false;
    bool varargs = false;
    bool kwargs = false;
  };

  // Counts a level for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.nesting_ > Limits::kParserDepth) parser_.too_deep();
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    report(ErrorKind::kInvalidInput, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    report(ErrorKind::kUnsupported,
           fmt::format(format, std::forward<Args>(args)...) + " is not supported");
  }
  [[noreturn]] void too_deep() const;

  const Token& current() const { return tokens_[position_]; }
  void next() {
    if (current().kind != TokenKind::kEndOfFile) ++position_;
  }
  bool at_name(std::string_view text) const {
    return current().kind == TokenKind::kName && current().text == text;
  }
  bool at_operator(std::string_view text) const {
    return current().kind == TokenKind::kOperator && current().text == text;
  }
  bool peek_is_operator(std::string_view text) const;
  bool skip_name(std::string_view text);
  bool skip_operator(std::string_view text);
  void expect_operator(std::string_view text);
  void expect_end(std::string_view text);
  std::string expect_name();

  // With or without a conditional at the top.
  ExpressionPtr expression(bool conditional_too = true);
  // An expression, or several with commas as a tuple. `end` is a word that ends it.
  ExpressionPtr tuple(bool conditional_too = true, std::string_view end = "");
  // The filters behind `subject`; with `inner` the first one's | is already gone.
  ExpressionPtr filters(ExpressionPtr subject, bool inner = false);

  Names names_;

  // Filters and tests that there are none of. Jinja refuses the template, but what stands under a
  // condition fails only when it is used: forgive() is called behind a condition for what was
  // named since `mark`, and `frame_` counts the bodies whose own names stay refused.
  size_t unknown_mark() const { return unknown_.size(); }
  void forgive(size_t mark);
  void refuse_unknown() const;
  int frame_ = 0;

 private:
  friend class Nesting;
  using NodePtr = std::unique_ptr<Expression>;

  struct Unknown {
    int line;
    int frame;
    std::string message;
  };

  [[noreturn]] void report(ErrorKind kind, const std::string& message) const;
  void name_unknown(std::string_view what, const std::string& name, bool missing);
  NodePtr make(Op op) const;
  NodePtr make(Op op, int line) const;
  // Sets the depth, now that the children are in place.
  ExpressionPtr finish(NodePtr node) const;
  NodePtr unary_node(Op op, ExpressionPtr operand, int line) const;
  ExpressionPtr binary_node(Arithmetic op, ExpressionPtr left, ExpressionPtr right, int line) const;

  ExpressionPtr conditional();
  ExpressionPtr disjunction();
  ExpressionPtr conjunction();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filter);
  ExpressionPtr primary();
  ExpressionPtr name_or_constant();
  ExpressionPtr parenthesized();
  ExpressionPtr list_literal();
  ExpressionPtr dict_literal();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr filters_and_tests(ExpressionPtr node);
  ExpressionPtr member(ExpressionPtr node);
  ExpressionPtr subscript(ExpressionPtr node);
  ExpressionPtr subscript_element(ExpressionPtr& subject, bool& is_slice);
  ExpressionPtr call(ExpressionPtr node);
  ExpressionPtr test(ExpressionPtr node);
  bool at_test_argument() const;
  void call_arguments(Expression& node);
  std::string dotted_name();

  const std::vector<Token>& tokens_;
  const std::string& template_name_;
  size_t position_ = 0;
  int nesting_ = 0;
  std::vector<Unknown> unknown_;
};

}  // namespace adze::text::chat
