// The values of a template: Python's, as far as chat templates use them.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/chat_template/tracked_string.h"

namespace adze::text::chat {

class Context;
class Value;
struct Builtin;
struct MacroNode;
struct Scope;
struct Statement;

struct Undefined {
  std::string message;  // what its use fails with
};
struct None {};

// How a sequence behaves in Python beyond holding items.
enum class Flavor { kList, kTuple, kGroup, kRange, kGenerator, kKeys, kValues, kItems };

struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Macro;
struct Method;

// Immutable but for Namespace, Loop and the position of a generator; copying is cheap. Belongs to
// one render and one thread.
class Value {
 public:
  Value() : data_(None{}) {}
  Value(bool value, bool from_input) : data_(value), from_input_(from_input) {}
  Value(int64_t value, bool from_input) : data_(value), from_input_(from_input) {}
  Value(double value, bool from_input) : data_(value), from_input_(from_input) {}
  template <class T>
  explicit Value(std::shared_ptr<T> object) : data_(std::move(object)) {}
  explicit Value(const Builtin* function) : data_(function) {}
  // Of a lookup that found nothing; `message` is what its use fails with.
  static Value undefined(std::string message);
  static Value undefined_name(std::string_view name);
  static Value boolean(bool value) { return Value(value, false); }
  static Value integer(size_t value) { return Value(static_cast<int64_t>(value), false); }

  bool is_undefined() const { return holds<std::shared_ptr<const Undefined>>(); }
  bool is_none() const { return holds<None>(); }
  bool is_bool() const { return holds<bool>(); }
  bool is_int() const { return holds<int64_t>(); }
  bool is_float() const { return holds<double>(); }
  bool is_number() const { return is_bool() || is_int() || is_float(); }

  const Undefined* undefined() const { return pointer<const Undefined>(); }
  const String* string() const { return pointer<const String>(); }
  const List* list() const { return pointer<const List>(); }
  const Dict* dict() const { return pointer<const Dict>(); }
  Namespace* name_space() const { return pointer<Namespace>(); }
  Loop* loop() const { return pointer<Loop>(); }
  const Macro* macro() const { return pointer<const Macro>(); }
  const Method* method() const { return pointer<const Method>(); }
  const Builtin* function() const {
    const auto* function = std::get_if<const Builtin*>(&data_);
    return function ? *function : nullptr;
  }

  // The number as Python converts it; only for what is_number() holds of (as_int: not for floats).
  int64_t as_int() const { return is_bool() ? std::get<bool>(data_) : std::get<int64_t>(data_); }
  double as_float() const {
    return is_float() ? std::get<double>(data_) : static_cast<double>(as_int());
  }

  // Whether it, or anything in it, came from the request. A namespace or loop counts as input.
  bool has_input() const;
  // The object, of what is one and no plain value: those are the same that have the same.
  const void* identity() const;
  // Whether it can be a key.
  bool hashable() const;
  // Levels of containers, at least 1. Bounds the recursion of everything that walks a value.
  int depth() const;

  // The class's name in Python, for messages.
  std::string_view type_name() const;

 private:
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(data_);
  }
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held ? held->get() : nullptr;
  }

  std::variant<None, bool, int64_t, double, std::shared_ptr<const Undefined>,
               std::shared_ptr<const String>, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>, std::shared_ptr<Namespace>, std::shared_ptr<Loop>,
               std::shared_ptr<const Macro>, std::shared_ptr<const Method>, const Builtin*>
      data_;
  bool from_input_ = false;
};

using Pair = std::pair<Value, Value>;

struct List {
  Flavor flavor = Flavor::kList;
  std::vector<Value> items;
  int depth = 1;
  bool has_input = false;
  bool hashable = false;
  std::array<int64_t, 3> bounds{};  // of a range: begin, end, step
  mutable size_t consumed = 0;      // of a generator
  std::exception_ptr failure;       // of a generator: what comes behind its items
};

// Whether it is a tuple to Python, as one of groupby's pairs is too.
inline bool is_tuple(const List& list) {
  return list.flavor == Flavor::kTuple || list.flavor == Flavor::kGroup;
}

struct Dict {
  const Value* find(const std::string& key) const {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : &entries[found->second].second;
  }
  std::vector<Pair> entries;
  std::unordered_map<std::string, size_t> index;  // by hash_key()
  int depth = 1;
  bool has_input = false;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  Value* find(std::string_view name);
};

// What `loop` names inside a for statement.
struct Loop {
  std::vector<Value> items;
  size_t index = 0;
  int depth = 1;
  std::optional<std::vector<Value>> last_changed;
  const Statement* recursive = nullptr;  // the for statement, if it can be called again
  Scope* scope = nullptr;                // around that statement; kept alive by the interpreter
  size_t level = 0;                      // of such calls
};

struct Macro {
  const MacroNode* node;
  Scope* scope;  // where it was defined; kept alive by the interpreter
};

// A bound method, such as `text.strip`.
struct Method {
  Value self;
  const Builtin* builtin;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

}  // namespace adze::text::chat
