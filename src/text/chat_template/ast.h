// The parsed template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/chat_template/value.h"

namespace adze::text::chat {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using Body = std::vector<std::unique_ptr<const Statement>>;

enum class Op {
  kLiteral,      // a number, bool or None: `literal`
  kText,         // `name` is the text
  kName,         // `name`
  kTuple,        // children
  kList,         // children
  kDict,         // children: key, value, key, value …
  kAttribute,    // [0].name
  kSubscript,    // [0][[1]]
  kSlice,        // [0][[1]:[2]:[3]], each of which may be null
  kCall,         // [0](arguments)
  kFilter,       // [0]|builtin(arguments); [0] is null at the head of a filter block
  kTest,         // [0] is builtin(arguments)
  kNot,          // [0]
  kNegative,     // [0]
  kPositive,     // [0]
  kAnd,          // [0], [1]
  kOr,           // [0], [1]
  kConditional,  // [0] if [1] else [2], which may be null
  kConcatenate,  // children
  kArithmetic,   // [0] `name` [1]
  kCompare,      // [0] comparisons[0] [1] comparisons[1] [2] …
};

enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};
enum class Arithmetic { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

struct Expression {
  Op op;
  int line;
  int depth = 1;  // levels of nodes, itself included
  std::string name;
  Value literal;
  Arithmetic arithmetic = Arithmetic::kAdd;
  std::vector<Comparison> comparisons;
  const Builtin* builtin =
      nullptr;  // null: there is none of that name, which fails when it is used
  std::vector<ExpressionPtr> children;
  std::vector<ExpressionPtr> arguments;  // positional
  std::vector<std::pair<std::string, ExpressionPtr>> keywords;
  ExpressionPtr more_arguments;  // *expression
  ExpressionPtr more_keywords;   // **expression
};

// Parameters and body of a macro or of a call block. The last `defaults.size()` parameters have
// defaults.
struct MacroNode {
  std::string name;
  int line = 0;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
  Body body;
};

// What an assignment or a for statement assigns to: a name, an attribute of a namespace, or several
// targets that a sequence is spread over.
struct Target {
  std::string name;
  std::string attribute;  // may be empty
  std::vector<Target> elements;
};

enum class Kind {
  kText,       // `text`
  kPrint,      // `expressions`
  kIf,         // branches: expressions[i] → bodies[i]; one body more is the else
  kFor,        // target in expressions[0] if expressions[1] (may be null): bodies[0] else bodies[1]
  kSet,        // target = expressions[0]
  kSetBlock,   // target = bodies[0], through the filters expressions[0] (may be null)
  kMacro,      // macro
  kCallBlock,  // expressions[0] is the call; macro is the caller
  kFilterBlock,  // bodies[0] through expressions[0]
  kWith,         // targets = expressions in bodies[0]
  kScope,        // bodies[0] in a scope of its own (generation)
  kBreak,
  kContinue,
};

struct Statement {
  Kind kind;
  int line;
  std::string text;
  std::vector<Target> targets;
  std::vector<ExpressionPtr> expressions;
  std::vector<Body> bodies;
  std::unique_ptr<MacroNode> macro;
  bool recursive = false;  // of a for statement
};

}  // namespace adze::text::chat
