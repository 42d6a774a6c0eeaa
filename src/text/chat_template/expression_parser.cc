#include "text/chat_template/expression_parser.h"

#include <algorithm>

#include "text/chat_template/builtins.h"

namespace adze::text::chat {

void ExpressionParser::report(ErrorKind kind, const std::string& message) const {
  throw Error(kind, fmt::format("{}: chat template: line {}: {}",
                                printable(template_name_, kMaxPathBytes), current().line, message));
}

void ExpressionParser::too_deep() const {
  report(ErrorKind::kResourceExhausted,
         fmt::format("more than {} levels of nesting", Limits::kParserDepth));
}

bool ExpressionParser::peek_is_operator(std::string_view text) const {
  const Token& token = tokens_[std::min(position_ + 1, tokens_.size() - 1)];
  return token.kind == TokenKind::kOperator && token.text == text;
}

bool ExpressionParser::skip_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  next();
  return true;
}

void ExpressionParser::expect_operator(std::string_view text) {
  if (!skip_operator(text)) {
    fail("expected '{}', got '{}'", text, printable(current().text));
  }
}

void ExpressionParser::expect_end(std::string_view text) {
  if (current().kind != TokenKind::kEnd) {
    fail("expected '{}', got '{}'", text, printable(current().text));
  }
  next();
}

std::string ExpressionParser::expect_name() {
  if (current().kind != TokenKind::kName) {
    fail("expected a name, got '{}'", printable(current().text));
  }
  std::string name = current().text;
  next();
  return name;
}

ExpressionParser::NodePtr ExpressionParser::make(Op op, int line) const {
  auto node = std::make_unique<Expression>();
  node->op = op;
  node->line = line;
  return node;
}

ExpressionParser::NodePtr ExpressionParser::make(Op op) const { return make(op, current().line); }

ExpressionPtr ExpressionParser::finish(NodePtr node) const {
  const auto count = [&](const ExpressionPtr& child) {
    if (child) node->depth = std::max(node->depth, child->depth + 1);
  };
  for (const auto& child : node->children) count(child);
  for (const auto& child : node->arguments) count(child);
  for (const auto& [unused, child] : node->keywords) count(child);
  count(node->more_arguments);
  count(node->more_keywords);
  if (node->depth > Limits::kParserDepth) too_deep();
  return node;
}

ExpressionPtr ExpressionParser::binary_node(Arithmetic op, ExpressionPtr left, ExpressionPtr right,
                                            int line) const {
  auto node = make(Op::kArithmetic, line);
  node->arithmetic = op;
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return finish(std::move(node));
}

ExpressionParser::NodePtr ExpressionParser::unary_node(Op op, ExpressionPtr operand,
                                                       int line) const {
  auto node = make(op, line);
  node->children.push_back(std::move(operand));
  return node;
}

void ExpressionParser::forgive(size_t mark) {
  const auto forgiven = [&](const Unknown& unknown) { return unknown.frame == frame_; };
  unknown_.erase(
      std::remove_if(unknown_.begin() + static_cast<ptrdiff_t>(mark), unknown_.end(), forgiven),
      unknown_.end());
}

void ExpressionParser::refuse_unknown() const {
  if (unknown_.empty()) return;
  throw_invalid("{}: chat template: line {}: {}", printable(template_name_, kMaxPathBytes),
                unknown_[0].line, unknown_[0].message);
}

// Notes a name that Jinja has no filter or test of; `missing` if Jinja has it.
void ExpressionParser::name_unknown(std::string_view what, const std::string& name, bool missing) {
  if (missing) unsupported("the {} '{}'", what, printable(name));
  unknown_.push_back(
      {current().line, frame_, fmt::format("No {} named '{}'.", what, printable(name))});
}

ExpressionPtr ExpressionParser::expression(bool conditional_too) {
  const Nesting nesting(*this);
  return conditional_too ? conditional() : disjunction();
}

ExpressionPtr ExpressionParser::conditional() {
  int line = current().line;
  const size_t mark = unknown_mark();
  ExpressionPtr value = disjunction();
  while (skip_name("if")) {
    auto node = make(Op::kConditional, line);
    node->children.push_back(std::move(value));
    node->children.push_back(disjunction());
    node->children.push_back(skip_name("else") ? expression() : nullptr);
    forgive(mark);
    value = finish(std::move(node));
    line = current().line;
  }
  return value;
}

ExpressionPtr ExpressionParser::disjunction() {
  int line = current().line;
  ExpressionPtr left = conjunction();
  while (skip_name("or")) {
    auto node = unary_node(Op::kOr, std::move(left), line);
    node->children.push_back(conjunction());
    left = finish(std::move(node));
    line = current().line;
  }
  return left;
}

ExpressionPtr ExpressionParser::conjunction() {
  int line = current().line;
  ExpressionPtr left = negation();
  while (skip_name("and")) {
    auto node = unary_node(Op::kAnd, std::move(left), line);
    node->children.push_back(negation());
    left = finish(std::move(node));
    line = current().line;
  }
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  const Nesting nesting(*this);
  const int line = current().line;
  if (skip_name("not")) return finish(unary_node(Op::kNot, negation(), line));
  return comparison();
}

ExpressionPtr ExpressionParser::comparison() {
  static constexpr std::pair<std::string_view, Comparison> kOperators[] = {
      {"==", Comparison::kEqual},  {"!=", Comparison::kNotEqual},
      {"<", Comparison::kLess},    {"<=", Comparison::kLessEqual},
      {">", Comparison::kGreater}, {">=", Comparison::kGreaterEqual},
  };
  const int line = current().line;
  ExpressionPtr first = sum();
  NodePtr node;
  while (true) {
    const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                    [&](const auto& row) { return at_operator(row.first); });
    Comparison op;
    if (found != std::end(kOperators)) {
      op = found->second;
      next();
    } else if (skip_name("in")) {
      op = Comparison::kIn;
    } else if (at_name("not") && tokens_[position_ + 1].kind == TokenKind::kName &&
               tokens_[position_ + 1].text == "in") {
      op = Comparison::kNotIn;
      next();
      next();
    } else {
      return node ? finish(std::move(node)) : std::move(first);
    }
    if (!node) node = unary_node(Op::kCompare, std::move(first), line);
    node->comparisons.push_back(op);
    node->children.push_back(sum());
  }
}

ExpressionPtr ExpressionParser::sum() {
  int line = current().line;
  ExpressionPtr left = concatenation();
  while (at_operator("+") || at_operator("-")) {
    const Arithmetic op = at_operator("+") ? Arithmetic::kAdd : Arithmetic::kSubtract;
    next();
    left = binary_node(op, std::move(left), concatenation(), line);
    line = current().line;
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = current().line;
  ExpressionPtr first = product();
  if (!at_operator("~")) return first;
  auto node = unary_node(Op::kConcatenate, std::move(first), line);
  while (skip_operator("~")) node->children.push_back(product());
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::product() {
  static constexpr std::pair<std::string_view, Arithmetic> kOperators[] = {
      {"*", Arithmetic::kMultiply},
      {"/", Arithmetic::kDivide},
      {"//", Arithmetic::kFloorDivide},
      {"%", Arithmetic::kModulo},
  };
  int line = current().line;
  ExpressionPtr left = power();
  while (true) {
    const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                    [&](const auto& row) { return at_operator(row.first); });
    if (found == std::end(kOperators)) return left;
    next();
    left = binary_node(found->second, std::move(left), power(), line);
    line = current().line;
  }
}

ExpressionPtr ExpressionParser::power() {
  int line = current().line;
  ExpressionPtr left = unary(true);
  while (skip_operator("**")) {
    left = binary_node(Arithmetic::kPower, std::move(left), unary(true), line);
    line = current().line;
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filter) {
  const Nesting nesting(*this);
  const int line = current().line;
  ExpressionPtr node;
  if (skip_operator("-")) {
    node = finish(unary_node(Op::kNegative, unary(false), line));
  } else if (skip_operator("+")) {
    node = finish(unary_node(Op::kPositive, unary(false), line));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filter ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName:
      return name_or_constant();
    case TokenKind::kString: {
      auto node = make(Op::kText);
      while (current().kind == TokenKind::kString) {
        node->name += current().text;
        next();
      }
      return finish(std::move(node));
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat: {
      auto node = make(Op::kLiteral);
      node->literal = token.kind == TokenKind::kInteger ? Value(token.integer, false)
                                                        : Value(token.number, false);
      next();
      return finish(std::move(node));
    }
    default:
      break;
  }
  if (at_operator("(")) return parenthesized();
  if (at_operator("[")) return list_literal();
  if (at_operator("{")) return dict_literal();
  if (token.kind == TokenKind::kEnd) fail("Expected an expression, got 'end of print statement'");
  fail("unexpected '{}'", printable(token.text));
}

ExpressionPtr ExpressionParser::name_or_constant() {
  const std::string& name = current().text;
  auto node = make(Op::kName);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->op = Op::kLiteral;
    node->literal = Value::boolean(name == "true" || name == "True");
  } else if (name == "none" || name == "None") {
    node->op = Op::kLiteral;
  } else {
    node->name = name;
    names_.caller = names_.caller || name == "caller";
    names_.varargs = names_.varargs || name == "varargs";
    names_.kwargs = names_.kwargs || name == "kwargs";
  }
  next();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::tuple(bool conditional_too, std::string_view end) {
  const Nesting nesting(*this);
  auto node = make(Op::kTuple);
  bool is_tuple = false;
  while (true) {
    const bool ended =
        current().kind == TokenKind::kEnd || at_operator(")") || (!end.empty() && at_name(end));
    if (ended) break;
    node->children.push_back(expression(conditional_too));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (node->children.empty()) fail("Expected an expression, got '{}'", printable(current().text));
  if (!is_tuple) return std::move(node->children[0]);
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parenthesized() {
  next();
  if (at_operator(")")) {
    auto node = make(Op::kTuple);
    next();
    return finish(std::move(node));
  }
  ExpressionPtr inner = tuple();
  expect_operator(")");
  return inner;
}

ExpressionPtr ExpressionParser::list_literal() {
  auto node = make(Op::kList);
  next();
  while (!at_operator("]")) {
    if (!node->children.empty()) {
      expect_operator(",");
      if (at_operator("]")) break;
    }
    node->children.push_back(expression());
  }
  next();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::dict_literal() {
  auto node = make(Op::kDict);
  next();
  while (!at_operator("}")) {
    if (!node->children.empty()) {
      expect_operator(",");
      if (at_operator("}")) break;
    }
    node->children.push_back(expression());
    expect_operator(":");
    node->children.push_back(expression());
  }
  next();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    if (at_operator(".")) {
      node = member(std::move(node));
    } else if (at_operator("[")) {
      node = subscript(std::move(node));
    } else if (at_operator("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr node) {
  while (true) {
    if (at_operator("|")) {
      node = filters(std::move(node));
    } else if (at_name("is")) {
      node = test(std::move(node));
    } else if (at_operator("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::member(ExpressionPtr subject) {
  const int line = current().line;
  next();
  if (current().kind == TokenKind::kInteger) {
    auto node = unary_node(Op::kSubscript, std::move(subject), line);
    auto index = make(Op::kLiteral);
    index->literal = Value(current().integer, false);
    next();
    node->children.push_back(finish(std::move(index)));
    return finish(std::move(node));
  }
  auto node = unary_node(Op::kAttribute, std::move(subject), line);
  node->name = expect_name();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr subject) {
  const int line = current().line;
  next();
  ExpressionPtr parts[3];
  size_t colons = 0;
  while (true) {
    if (!at_operator(":") && !at_operator("]")) parts[colons] = expression();
    if (colons == 2 || !skip_operator(":")) break;
    ++colons;
  }
  if (at_operator(",")) unsupported("a subscript of several parts");
  if (colons == 0 && !parts[0]) parts[0] = finish(make(Op::kTuple));  // Jinja's x[] is x[()]
  expect_operator("]");
  auto node = unary_node(colons == 0 ? Op::kSubscript : Op::kSlice, std::move(subject), line);
  for (size_t i = 0; i < (colons == 0 ? 1 : std::size(parts)); ++i) {
    node->children.push_back(std::move(parts[i]));
  }
  return finish(std::move(node));
}

void ExpressionParser::call_arguments(Expression& node) {
  next();
  bool first = true;
  while (!at_operator(")")) {
    if (!first) {
      expect_operator(",");
      if (at_operator(")")) break;
    }
    first = false;
    const bool named = current().kind == TokenKind::kName && peek_is_operator("=");
    if (skip_operator("**")) {
      if (node.more_keywords) fail("invalid syntax for function call expression");
      node.more_keywords = expression();
    } else if (node.more_keywords) {
      fail("invalid syntax for function call expression");
    } else if (skip_operator("*")) {
      if (node.more_arguments) fail("invalid syntax for function call expression");
      node.more_arguments = expression();
    } else if (named) {
      std::string name = expect_name();
      next();  // =
      node.keywords.emplace_back(std::move(name), expression());
    } else {
      if (!node.keywords.empty() || node.more_arguments) {
        fail("invalid syntax for function call expression");
      }
      node.arguments.push_back(expression());
    }
  }
  next();
}

ExpressionPtr ExpressionParser::call(ExpressionPtr subject) {
  auto node = unary_node(Op::kCall, std::move(subject), current().line);
  call_arguments(*node);
  return finish(std::move(node));
}

std::string ExpressionParser::dotted_name() {
  std::string name = expect_name();
  while (skip_operator(".")) name += "." + expect_name();
  return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr subject, bool inner) {
  while (inner || at_operator("|")) {
    if (!inner) next();
    inner = false;
    auto node = unary_node(Op::kFilter, std::move(subject), current().line);
    node->name = dotted_name();
    node->builtin = find_filter(node->name);
    if (!node->builtin) name_unknown("filter", node->name, is_missing_filter(node->name));
    if (at_operator("(")) call_arguments(*node);
    subject = finish(std::move(node));
  }
  return subject;
}

bool ExpressionParser::at_test_argument() const {
  switch (current().kind) {
    case TokenKind::kName:
      return !at_name("else") && !at_name("or") && !at_name("and");
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    default:
      return at_operator("[") || at_operator("{");
  }
}

ExpressionPtr ExpressionParser::test(ExpressionPtr subject) {
  const int line = current().line;
  next();
  const bool negated = skip_name("not");
  auto node = unary_node(Op::kTest, std::move(subject), line);
  node->name = dotted_name();
  node->builtin = find_test(node->name);
  if (!node->builtin) name_unknown("test", node->name, false);
  if (at_operator("(")) {
    call_arguments(*node);
  } else if (at_test_argument()) {
    if (at_name("is")) fail("You cannot chain multiple tests with is");
    node->arguments.push_back(postfix(primary()));
  }
  ExpressionPtr result = finish(std::move(node));
  return negated ? finish(unary_node(Op::kNot, std::move(result), line)) : std::move(result);
}

}  // namespace adze::text::chat
