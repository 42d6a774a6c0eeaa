// Runs a parsed template once.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/chat_template/ast.h"
#include "text/chat_template/context.h"
#include "text/chat_template/value.h"

namespace adze::text::chat {

// The variables of one body. A macro sees those around its definition, as they are when it runs.
struct Scope {
  Scope* parent = nullptr;
  bool captured = false;  // a macro or a recursive loop refers to it
  std::vector<std::pair<std::string_view, Value>> variables;

  Value* find(std::string_view name);
};

// Walks the tree. One render, one thread. Throws what Context throws.
class Interpreter {
 public:
  // `variables` are the request's; names refer to text that outlives this.
  Interpreter(Context& context, std::vector<std::pair<std::string_view, Value>> variables);

  String run(const Body& body);

 private:
  enum class Flow { kNormal, kBreak, kContinue };

  // A scope for as long as it lives, and beyond where a macro or a recursive loop refers to it.
  class Frame {
   public:
    explicit Frame(Interpreter& interpreter) : Frame(interpreter, interpreter.scope_) {}
    Frame(Interpreter& interpreter, Scope* parent);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Interpreter& interpreter_;
    Scope* const outer_;
    std::list<Scope> scope_;  // one, or none any more
  };

  // Statements (statements.cc).
  Flow execute(const Body& body, String& out);
  Flow execute(const Statement& statement, String& out);
  Flow execute_for(const Statement& statement, const Value& sequence, size_t level, String& out);
  Flow execute_if(const Statement& statement, String& out);
  Flow execute_with(const Statement& statement, String& out);
  std::vector<Value> loop_items(const Statement& statement, const Value& sequence);
  void assign(const Target& target, const Value& value);
  void define(std::string_view name, Value value);
  // Keeps the scopes here alive until the end of the render.
  void capture_scopes();
  Value make_macro(const MacroNode& node);
  void write(String& out, const String& text);
  void write(String& out, const Value& value);
  // What a body writes, in a scope of its own.
  Value capture(const Body& body);

  // Expressions (interpreter.cc).
  Value evaluate(const Expression& node);
  Value evaluate_name(const Expression& node);
  Value evaluate_conditional(const Expression& node);
  Value evaluate_compare(const Expression& node);
  Value evaluate_concatenate(const Expression& node);
  Value evaluate_dict(const Expression& node);
  Value evaluate_slice(const Expression& node);
  Value evaluate_call(const Expression& node, const Value* caller);
  // A filter or test over `subject`; a filter block's chain begins with `block`.
  Value evaluate_applied(const Expression& node, const Value* block);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& nodes);
  Arguments evaluate_arguments(const Expression& node);
  Value call_value(const Value& callee, Arguments arguments);
  Value call_macro(const Macro& macro, Arguments arguments);
  Value call_loop(const Loop& loop, const Arguments& arguments);
  void bind_parameters(const MacroNode& node, Arguments& arguments);

  Context& context_;
  Scope globals_;
  Scope* scope_ = &globals_;
  std::list<Scope> captured_;
};

}  // namespace adze::text::chat
