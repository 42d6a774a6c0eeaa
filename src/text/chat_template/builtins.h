// The filters, tests, functions and methods a template can call, one table row each.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "text/chat_template/context.h"
#include "text/chat_template/value.h"

namespace adze::text::chat {

// One call of a builtin. `self` is what a filter, test or method is applied to.
struct Call {
  Context& context;
  const Value& self;
  std::vector<std::optional<Value>> arguments;  // by parameter; required ones are there
  const Arguments& raw;                         // as written, for variadic rows

  bool has(size_t i) const { return arguments[i].has_value(); }
  const Value& operator[](size_t i) const { return *arguments[i]; }
};

struct Builtin {
  std::string_view name;
  std::array<std::string_view, 5> parameters;  // unused ones are empty
  size_t required;
  Value (*run)(Call& call);
  bool variadic = false;  // takes any arguments, by Call::raw
};

// Null where there is none of that name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
// A method of `self`'s class.
const Builtin* find_method(const Value& self, std::string_view name);
// A method that would change a list or dict, which the sandbox hides.
bool is_forbidden_method(const Value& self, std::string_view name);
// Exists in Jinja or Python, but not here.
bool is_missing_filter(std::string_view name);
bool is_missing_function(std::string_view name);
bool is_missing_method(const Value& self, std::string_view name);

// The keywords as a dict.
Value keyword_dict(Context& context, const Arguments& arguments);

// Binds arguments to parameters as Python does and calls.
Value call_builtin(Context& context, const Builtin& builtin, const Value& self,
                   const Arguments& arguments);

// The rows, by the file that has them.
const Builtin* find_text_filter(std::string_view name);
const Builtin* find_sequence_filter(std::string_view name);

template <size_t n>
const Builtin* find_row(const std::array<Builtin, n>& rows, std::string_view name) {
  for (const Builtin& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace adze::text::chat
