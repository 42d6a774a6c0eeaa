// What can stand behind `is`.
#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/operators.h"
#include "text/chat_template/python_text.h"

namespace adze::text::chat {
namespace {

template <bool (*check)(const Value&)>
Value checked(Call& call) {
  return Value::boolean(check(call.self));
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_string(const Value& value) { return value.string() != nullptr; }
bool is_mapping(const Value& value) { return value.dict() != nullptr; }
bool is_sequence(const Value& value) {
  const List* list = value.list();
  const bool indexable =
      list && (list->flavor == Flavor::kList || is_tuple(*list) || list->flavor == Flavor::kRange);
  return value.string() || value.dict() || indexable || value.is_undefined();
}
bool is_number(const Value& value) { return value.is_number(); }
bool is_integer(const Value& value) { return value.is_int(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_boolean(const Value& value) { return value.is_bool(); }
bool is_true(const Value& value) { return value.is_bool() && value.as_int(); }
bool is_false(const Value& value) { return value.is_bool() && !value.as_int(); }
bool is_callable(const Value& value) {
  return value.macro() || value.method() || value.function() || value.is_undefined();
}

// Whether the rest of a division by two is `rest`.
Value has_parity(Call& call, int64_t rest) {
  const Value found =
      arithmetic(call.context, Arithmetic::kModulo, call.self, Value(int64_t{2}, false));
  return Value::boolean(equal(call.context, found, Value(rest, false)));
}
Value is_odd(Call& call) { return has_parity(call, 1); }
Value is_even(Call& call) { return has_parity(call, 0); }
Value is_divisible(Call& call) {
  const Value rest = arithmetic(call.context, Arithmetic::kModulo, call.self, call[0]);
  return Value::boolean(!truth(rest));
}

template <Comparison comparison>
Value compared(Call& call) {
  return Value::boolean(compare(call.context, comparison, call.self, call[0]));
}

// str.islower() and str.isupper(): the same in that case, and different in the other.
Value has_case(Call& call, Case which, Case other) {
  const String text = to_string(call.context, call.self);
  call.context.spend_bytes(16 * text.size());
  return Value::boolean(change_case(text, which).text() == text.text() &&
                        change_case(text, other).text() != text.text());
}
Value is_lower(Call& call) { return has_case(call, Case::kLower, Case::kUpper); }
Value is_upper(Call& call) { return has_case(call, Case::kUpper, Case::kLower); }

Value is_same(Call& call) {
  const Value& a = call.self;
  const Value& b = call[0];
  if (a.type_name() != b.type_name()) return Value::boolean(false);
  if (a.identity() || b.identity()) return Value::boolean(a.identity() == b.identity());
  if (a.is_none() || a.is_bool() || a.is_undefined() || !equal(call.context, a, b)) {
    return Value::boolean(!a.is_undefined() && equal(call.context, a, b));
  }
  // Whether equal ones are one object is Python's own affair, but for the small integers.
  constexpr int64_t kCached = 256;
  if (a.is_int() && a.as_int() >= -5 && a.as_int() <= kCached) return Value::boolean(true);
  call.context.unsupported("sameas of a '{}'", a.type_name());
}

bool is_escaped(const Value& value) { return value.string() && value.string()->is_markup(); }

Value is_filter(Call& call) {
  return Value::boolean(find_filter(to_text(call.context, call.self, "a name").text()) != nullptr);
}
Value is_test(Call& call) {
  return Value::boolean(find_test(to_text(call.context, call.self, "a name").text()) != nullptr);
}

constexpr auto kRows = std::to_array<Builtin>({
    {"defined", {}, 0, checked<is_defined>},
    {"undefined", {}, 0, checked<is_undefined>},
    {"none", {}, 0, checked<is_none>},
    {"string", {}, 0, checked<is_string>},
    {"mapping", {}, 0, checked<is_mapping>},
    {"iterable", {}, 0, checked<is_iterable>},
    {"sequence", {}, 0, checked<is_sequence>},
    {"number", {}, 0, checked<is_number>},
    {"integer", {}, 0, checked<is_integer>},
    {"float", {}, 0, checked<is_float>},
    {"boolean", {}, 0, checked<is_boolean>},
    {"true", {}, 0, checked<is_true>},
    {"false", {}, 0, checked<is_false>},
    {"callable", {}, 0, checked<is_callable>},
    {"odd", {}, 0, is_odd},
    {"even", {}, 0, is_even},
    {"divisibleby", {"num"}, 1, is_divisible},
    {"lower", {}, 0, is_lower},
    {"upper", {}, 0, is_upper},
    {"escaped", {}, 0, checked<is_escaped>},
    {"sameas", {"other"}, 1, is_same},
    {"filter", {}, 0, is_filter},
    {"test", {}, 0, is_test},
    {"in", {"seq"}, 1, compared<Comparison::kIn>},
    {"equalto", {"b"}, 1, compared<Comparison::kEqual>},
    {"eq", {"b"}, 1, compared<Comparison::kEqual>},
    {"==", {"b"}, 1, compared<Comparison::kEqual>},
    {"ne", {"b"}, 1, compared<Comparison::kNotEqual>},
    {"!=", {"b"}, 1, compared<Comparison::kNotEqual>},
    {"lt", {"b"}, 1, compared<Comparison::kLess>},
    {"<", {"b"}, 1, compared<Comparison::kLess>},
    {"lessthan", {"b"}, 1, compared<Comparison::kLess>},
    {"le", {"b"}, 1, compared<Comparison::kLessEqual>},
    {"<=", {"b"}, 1, compared<Comparison::kLessEqual>},
    {"gt", {"b"}, 1, compared<Comparison::kGreater>},
    {">", {"b"}, 1, compared<Comparison::kGreater>},
    {"greaterthan", {"b"}, 1, compared<Comparison::kGreater>},
    {"ge", {"b"}, 1, compared<Comparison::kGreaterEqual>},
    {">=", {"b"}, 1, compared<Comparison::kGreaterEqual>},
});

}  // namespace

const Builtin* find_test(std::string_view name) { return find_row(kRows, name); }

}  // namespace adze::text::chat
