#include "text/chat_template/interpreter.h"

#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/operators.h"

namespace adze::text::chat {

Value* Scope::find(std::string_view name) {
  for (auto& [known, value] : variables) {
    if (known == name) return &value;
  }
  return nullptr;
}

Interpreter::Interpreter(Context& context,
                         std::vector<std::pair<std::string_view, Value>> variables)
    : context_(context) {
  globals_.variables = std::move(variables);
}

Interpreter::Frame::Frame(Interpreter& interpreter, Scope* parent)
    : interpreter_(interpreter), outer_(interpreter.scope_), scope_(1) {
  scope_.front().parent = parent;
  interpreter.scope_ = &scope_.front();
}

Interpreter::Frame::~Frame() {
  interpreter_.scope_ = outer_;
  // Moves the list's node: a destructor must not allocate.
  if (scope_.front().captured) interpreter_.captured_.splice(interpreter_.captured_.end(), scope_);
}

Value Interpreter::evaluate(const Expression& node) {
  const Context::Level level(context_);
  context_.spend();
  context_.set_line(node.line);
  const auto child = [&](size_t i) { return evaluate(*node.children[i]); };
  switch (node.op) {
    case Op::kLiteral:
      return node.literal;
    case Op::kText:
      return context_.text(node.name);
    case Op::kName:
      return evaluate_name(node);
    case Op::kTuple:
      return context_.list(evaluate_all(node.children), Flavor::kTuple);
    case Op::kList:
      return context_.list(evaluate_all(node.children));
    case Op::kDict:
      return evaluate_dict(node);
    case Op::kAttribute:
      return get_attribute(context_, child(0), node.name);
    case Op::kSubscript: {
      const Value subject = child(0);
      return get_item(context_, subject, child(1));
    }
    case Op::kSlice:
      return evaluate_slice(node);
    case Op::kCall:
      return evaluate_call(node, nullptr);
    case Op::kFilter:
    case Op::kTest:
      return evaluate_applied(node, nullptr);
    case Op::kNot:
      return Value::boolean(!truth(child(0)));
    case Op::kNegative:
      return negate(context_, child(0));
    case Op::kPositive:
      return positive(context_, child(0));
    case Op::kAnd: {
      Value left = child(0);
      return truth(left) ? child(1) : left;
    }
    case Op::kOr: {
      Value left = child(0);
      return truth(left) ? left : child(1);
    }
    case Op::kConditional:
      return evaluate_conditional(node);
    case Op::kConcatenate:
      return evaluate_concatenate(node);
    case Op::kArithmetic: {
      const Value left = child(0);
      const Value right = child(1);
      context_.set_line(node.line);
      return arithmetic(context_, node.arithmetic, left, right);
    }
    case Op::kCompare:
      return evaluate_compare(node);
  }
  context_.fail("no such expression");
}

Value Interpreter::evaluate_name(const Expression& node) {
  for (Scope* scope = scope_; scope; scope = scope->parent) {
    context_.spend(1 + scope->variables.size() / 32);
    if (const Value* found = scope->find(node.name)) return *found;
  }
  if (const Builtin* function = find_function(node.name)) return Value(function);
  if (is_missing_function(node.name)) context_.unsupported("'{}'", node.name);
  return Value::undefined_name(node.name);
}

Value Interpreter::evaluate_conditional(const Expression& node) {
  if (truth(evaluate(*node.children[1]))) return evaluate(*node.children[0]);
  if (node.children[2]) return evaluate(*node.children[2]);
  return Value::undefined(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section was "
                  "defined.",
                  node.line));
}

Value Interpreter::evaluate_compare(const Expression& node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = evaluate(*node.children[i + 1]);
    context_.set_line(node.line);
    if (!compare(context_, node.comparisons[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_concatenate(const Expression& node) {
  String result;
  for (const ExpressionPtr& child : node.children) {
    const String part = to_string(context_, evaluate(*child));
    context_.charge(part.size());
    context_.spend_bytes(part.size());
    result.append(part);
  }
  return context_.text(std::move(result));
}

Value Interpreter::evaluate_dict(const Expression& node) {
  std::vector<Pair> entries;
  for (size_t i = 0; i < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i]);
    entries.emplace_back(std::move(key), evaluate(*node.children[i + 1]));
  }
  context_.set_line(node.line);
  return context_.dict(std::move(entries));
}

Value Interpreter::evaluate_slice(const Expression& node) {
  const auto part = [&](size_t i) {
    return node.children[i] ? evaluate(*node.children[i]) : Value();
  };
  const Value subject = part(0);
  const Value begin = part(1);
  const Value end = part(2);
  return get_slice(context_, subject, begin, end, part(3));
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& nodes) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (const ExpressionPtr& node : nodes) values.push_back(evaluate(*node));
  return values;
}

Arguments Interpreter::evaluate_arguments(const Expression& node) {
  Arguments arguments;
  arguments.positional = evaluate_all(node.arguments);
  if (node.more_arguments) {
    const std::vector<Value> more = iterate(context_, evaluate(*node.more_arguments));
    arguments.positional.insert(arguments.positional.end(), more.begin(), more.end());
  }
  const auto add = [&](const std::string& name, Value value) {
    const bool known = std::any_of(arguments.keywords.begin(), arguments.keywords.end(),
                                   [&](const auto& entry) { return entry.first == name; });
    if (known) context_.fail("got multiple values for keyword argument '{}'", printable(name));
    context_.spend(1 + arguments.keywords.size() / 16);
    arguments.keywords.emplace_back(name, std::move(value));
  };
  for (const auto& [name, value] : node.keywords) add(name, evaluate(*value));
  if (node.more_keywords) {
    const Value more = evaluate(*node.more_keywords);
    if (!more.dict())
      context_.fail("argument after ** must be a mapping, not {}", more.type_name());
    for (const auto& [key, value] : more.dict()->entries) {
      add(to_text(context_, key, "a keyword").text(), value);
    }
  }
  return arguments;
}

Value Interpreter::evaluate_applied(const Expression& node, const Value* block) {
  Value subject;
  const Expression* inner = node.children[0].get();
  if (!inner) {
    subject = *block;
  } else {
    // Only a filter block's chain of filters has an end without a subject.
    subject = block ? evaluate_applied(*inner, block) : evaluate(*inner);
  }
  const Arguments arguments = evaluate_arguments(node);
  context_.set_line(node.line);
  if (!node.builtin) {
    context_.fail("No {} named '{}' found.", node.op == Op::kTest ? "test" : "filter",
                  printable(node.name));
  }
  return call_builtin(context_, *node.builtin, subject, arguments);
}

Value Interpreter::evaluate_call(const Expression& node, const Value* caller) {
  const Value callee = evaluate(*node.children[0]);
  Arguments arguments = evaluate_arguments(node);
  if (caller) arguments.keywords.emplace_back("caller", *caller);
  context_.set_line(node.line);
  return call_value(callee, std::move(arguments));
}

Value Interpreter::call_value(const Value& callee, Arguments arguments) {
  if (const Macro* macro = callee.macro()) return call_macro(*macro, std::move(arguments));
  if (const Method* method = callee.method()) {
    return call_builtin(context_, *method->builtin, method->self, arguments);
  }
  if (const Builtin* function = callee.function()) {
    return call_builtin(context_, *function, Value(), arguments);
  }
  if (const Loop* loop = callee.loop()) return call_loop(*loop, arguments);
  if (callee.is_undefined()) context_.fail_undefined(callee);
  context_.fail("'{}' object is not callable", callee.type_name());
}

// Renders a recursive loop's statement again, over other items.
Value Interpreter::call_loop(const Loop& loop, const Arguments& arguments) {
  const Context::Level level(context_);
  if (!loop.recursive) {
    context_.fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    context_.fail("loop() takes the items to loop over");
  }
  const Frame frame(*this, loop.scope);
  String out;
  execute_for(*loop.recursive, arguments.positional[0], loop.level + 1, out);
  return context_.text(std::move(out));
}

// Takes the arguments that have a parameter and leaves the rest in `arguments`.
void Interpreter::bind_parameters(const MacroNode& node, Arguments& arguments) {
  const size_t count = node.parameters.size();
  const size_t required = count - node.defaults.size();
  auto& keywords = arguments.keywords;
  std::vector<size_t> missing;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = node.parameters[i];
    const auto keyword = std::find_if(keywords.begin(), keywords.end(),
                                      [&](const auto& entry) { return entry.first == name; });
    context_.spend();
    if (i < arguments.positional.size()) {
      define(name, arguments.positional[i]);
    } else if (keyword != keywords.end()) {
      define(name, keyword->second);
      keywords.erase(keyword);
    } else {
      // Not that of a scope outside, for defaults that mention it.
      define(name, Value::undefined_name(name));
      missing.push_back(i);
    }
  }
  for (const size_t i : missing) {
    const std::string& name = node.parameters[i];
    define(name, i >= required ? evaluate(*node.defaults[i - required])
                               : Value::undefined("parameter '" + name + "' was not provided"));
  }
  const size_t taken = std::min(count, arguments.positional.size());
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() + static_cast<ptrdiff_t>(taken));
}

Value Interpreter::call_macro(const Macro& macro, Arguments arguments) {
  const Context::Level level(context_);
  const MacroNode& node = *macro.node;
  const int line = context_.line();
  const Frame frame(*this, macro.scope);
  bind_parameters(node, arguments);
  auto& keywords = arguments.keywords;
  const auto caller = std::find_if(keywords.begin(), keywords.end(),
                                   [](const auto& entry) { return entry.first == "caller"; });
  if (node.uses_caller) {
    Value value = Value::undefined("No caller defined");
    if (caller != keywords.end()) {
      value = caller->second;
      keywords.erase(caller);
    }
    if (node.name != "caller") define("caller", std::move(value));
  }
  context_.set_line(line);
  if (node.uses_kwargs) {
    define("kwargs", keyword_dict(context_, arguments));
  } else if (!keywords.empty() && keywords[0].first == "caller") {
    context_.fail(
        "macro '{}' was invoked with two values for the special caller argument. This is "
        "most likely a bug.",
        node.name);
  } else if (!keywords.empty()) {
    context_.fail("macro '{}' takes no keyword argument '{}'", node.name,
                  printable(keywords[0].first));
  }
  if (node.uses_varargs) {
    define("varargs", context_.list(std::move(arguments.positional), Flavor::kTuple));
  } else if (!arguments.positional.empty()) {
    context_.fail("macro '{}' takes not more than {} argument(s)", node.name,
                  node.parameters.size());
  }
  String out;
  execute(node.body, out);
  return context_.text(std::move(out));
}

}  // namespace adze::text::chat
