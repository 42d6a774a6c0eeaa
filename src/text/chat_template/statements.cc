#include <algorithm>

#include "text/chat_template/interpreter.h"
#include "text/chat_template/operators.h"

namespace adze::text::chat {

String Interpreter::run(const Body& body) {
  String out;
  const Frame frame(*this);  // the template's variables; the request's lie around them
  execute(body, out);
  return out;
}

void Interpreter::define(std::string_view name, Value value) {
  context_.spend(1 + scope_->variables.size() / 32);
  if (Value* known = scope_->find(name)) {
    *known = std::move(value);
  } else {
    context_.charge(sizeof(scope_->variables[0]));
    scope_->variables.emplace_back(name, std::move(value));
  }
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (!target.elements.empty()) {
    if (!is_iterable(value)) {
      context_.fail("cannot unpack non-iterable {} object", value.type_name());
    }
    const std::vector<Value> items = iterate(context_, value);
    const size_t expected = target.elements.size();
    if (items.size() > expected) {
      context_.fail("too many values to unpack (expected {})", expected);
    }
    if (items.size() < expected) {
      context_.fail("not enough values to unpack (expected {}, got {})", expected, items.size());
    }
    for (size_t i = 0; i < items.size(); ++i) assign(target.elements[i], items[i]);
  } else if (target.attribute.empty()) {
    define(target.name, value);
  } else {
    Value space;
    for (Scope* scope = scope_; scope && !space.name_space(); scope = scope->parent) {
      if (const Value* found = scope->find(target.name)) {
        space = *found;
        break;
      }
    }
    if (!space.name_space()) context_.fail("cannot assign attribute on non-namespace object");
    context_.spend(1 + space.name_space()->attributes.size() / 32);
    context_.charge(sizeof(space.name_space()->attributes[0]) + target.attribute.size());
    if (Value* known = space.name_space()->find(target.attribute)) {
      *known = value;
    } else {
      space.name_space()->attributes.emplace_back(target.attribute, value);
    }
  }
}

void Interpreter::capture_scopes() {
  for (Scope* scope = scope_; scope && !scope->captured; scope = scope->parent) {
    scope->captured = true;
  }
}

Value Interpreter::make_macro(const MacroNode& node) {
  capture_scopes();
  context_.charge(sizeof(Macro));
  return Value(std::make_shared<const Macro>(Macro{&node, scope_}));
}

void Interpreter::write(String& out, const String& text) {
  context_.spend_bytes(text.size());
  if (text.size() > Limits::kOutput - std::min<size_t>(out.size(), Limits::kOutput)) {
    context_.exhausted("bytes of output", Limits::kOutput);
  }
  out.append(text);
}

void Interpreter::write(String& out, const Value& value) {
  if (const String* text = value.string()) {
    write(out, *text);
  } else {
    write(out, to_string(context_, value));
  }
}

Value Interpreter::capture(const Body& body) {
  const Frame frame(*this);
  String out;
  execute(body, out);
  return context_.text(std::move(out));
}

Interpreter::Flow Interpreter::execute(const Body& body, String& out) {
  for (const auto& statement : body) {
    const Flow flow = execute(*statement, out);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, String& out) {
  const Context::Level level(context_);
  context_.spend();
  context_.set_line(statement.line);
  switch (statement.kind) {
    case Kind::kText:
      write(out, String(statement.text));
      break;
    case Kind::kPrint:
      for (const auto& expression : statement.expressions) write(out, evaluate(*expression));
      break;
    case Kind::kIf:
      return execute_if(statement, out);
    case Kind::kFor:
      return execute_for(statement, evaluate(*statement.expressions[0]), 0, out);
    case Kind::kWith:
      return execute_with(statement, out);
    case Kind::kSet: {
      const Value value = evaluate(*statement.expressions[0]);
      context_.set_line(statement.line);
      assign(statement.targets[0], value);
      break;
    }
    case Kind::kSetBlock: {
      Value value = capture(statement.bodies[0]);
      const Expression* filters = statement.expressions[0].get();
      assign(statement.targets[0], filters ? evaluate_applied(*filters, &value) : value);
      break;
    }
    case Kind::kFilterBlock: {
      const Value value = capture(statement.bodies[0]);
      write(out, evaluate_applied(*statement.expressions[0], &value));
      break;
    }
    case Kind::kMacro:
      define(statement.macro->name, make_macro(*statement.macro));
      break;
    case Kind::kCallBlock: {
      const Value caller = make_macro(*statement.macro);
      write(out, evaluate_call(*statement.expressions[0], &caller));
      break;
    }
    case Kind::kScope: {
      const Frame frame(*this);
      return execute(statement.bodies[0], out);
    }
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute_if(const Statement& statement, String& out) {
  for (size_t i = 0; i < statement.expressions.size(); ++i) {
    if (truth(evaluate(*statement.expressions[i]))) return execute(statement.bodies[i], out);
  }
  const bool has_else = statement.bodies.size() > statement.expressions.size();
  return has_else ? execute(statement.bodies.back(), out) : Flow::kNormal;
}

std::vector<Value> Interpreter::loop_items(const Statement& statement, const Value& sequence) {
  std::vector<Value> items = iterate(context_, sequence);
  const Expression* condition = statement.expressions[1].get();
  if (!condition) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const Frame frame(*this);
    assign(statement.targets[0], item);
    if (truth(evaluate(*condition))) kept.push_back(std::move(item));
  }
  return kept;
}

Interpreter::Flow Interpreter::execute_for(const Statement& statement, const Value& sequence,
                                           size_t level, String& out) {
  auto state = std::make_shared<Loop>();
  state->items = loop_items(statement, sequence);
  state->level = level;
  if (statement.recursive) {
    capture_scopes();
    state->recursive = &statement;
    state->scope = scope_;
  }
  const Value loop = context_.loop(state);
  const size_t count = state->items.size();
  bool completed = false;  // an iteration got to its end; without one Jinja takes the else
  for (size_t i = 0; i < count; ++i) {
    context_.spend();
    state->index = i;
    const Frame frame(*this);
    define("loop", loop);
    context_.set_line(statement.line);
    assign(statement.targets[0], state->items[i]);
    const Flow flow = execute(statement.bodies[0], out);
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNormal;
  }
  if (!completed && statement.bodies.size() > 1) {
    const Frame frame(*this);
    return execute(statement.bodies[1], out);
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute_with(const Statement& statement, String& out) {
  const std::vector<Value> values = evaluate_all(statement.expressions);
  const Frame frame(*this);
  for (size_t i = 0; i < values.size(); ++i) assign(statement.targets[i], values[i]);
  return execute(statement.bodies[0], out);
}

}  // namespace adze::text::chat
