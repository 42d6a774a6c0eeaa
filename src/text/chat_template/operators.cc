#include "text/chat_template/operators.h"

#include <algorithm>
#include <cmath>

#include "text/chat_template/formatting.h"
#include "text/chat_template/python_text.h"
#include "text/chat_template/text_methods.h"

namespace adze::text::chat {

bool truth(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_float()) return value.as_float() != 0;
  if (value.is_number()) return value.as_int() != 0;
  if (const String* text = value.string()) return !text->empty();
  if (const List* list = value.list()) {
    return list->flavor == Flavor::kGenerator || !list->items.empty();
  }
  if (const Dict* dict = value.dict()) return !dict->entries.empty();
  if (const Loop* loop = value.loop()) return !loop->items.empty();
  return true;
}

namespace {

bool same_class(const List& a, const List& b) {
  return a.flavor == b.flavor || (is_tuple(a) && is_tuple(b));
}

// Negative, zero or positive; `ordered` is false where a number is not one.
int compare_numbers(const Value& a, const Value& b, bool& ordered) {
  ordered = true;
  if (!a.is_float() && !b.is_float()) {
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
  }
  const double x = a.as_float();
  const double y = b.as_float();
  ordered = !std::isnan(x) && !std::isnan(y);
  return x < y ? -1 : x > y;
}

}  // namespace

bool equal(Context& context, const Value& a, const Value& b) {
  context.spend();
  if (a.is_number() && b.is_number()) {
    bool ordered;
    return compare_numbers(a, b, ordered) == 0 && ordered;
  }
  if (a.string() && b.string()) {
    context.spend_bytes(std::min(a.string()->size(), b.string()->size()));
    return a.string()->text() == b.string()->text();
  }
  if (const List* x = a.list(), *y = b.list(); x && y) {
    if (x == y) return true;
    if (x->flavor == Flavor::kGenerator || !same_class(*x, *y)) return false;
    return x->items.size() == y->items.size() &&
           std::equal(x->items.begin(), x->items.end(), y->items.begin(),
                      [&](const Value& p, const Value& q) { return equal(context, p, q); });
  }
  if (const Dict* x = a.dict(), *y = b.dict(); x && y) {
    if (x->entries.size() != y->entries.size()) return false;
    return std::all_of(x->index.begin(), x->index.end(), [&](const auto& entry) {
      const Value* other = y->find(entry.first);
      return other && equal(context, x->entries[entry.second].second, *other);
    });
  }
  if (a.is_undefined() || a.is_none()) {
    return a.is_undefined() ? b.is_undefined() : b.is_none();
  }
  if (a.name_space()) return a.name_space() == b.name_space();
  if (a.loop()) return a.loop() == b.loop();
  if (a.macro()) return a.macro() == b.macro();
  if (a.method()) return a.method() == b.method();
  return a.function() && a.function() == b.function();
}

namespace {

[[noreturn]] void fail_operands(Context& context, const Value& a, const Value& b,
                                std::string_view message) {
  if (a.is_undefined()) context.fail_undefined(a);
  if (b.is_undefined()) context.fail_undefined(b);
  context.fail("{}", message);
}

bool holds(Comparison comparison, int order) {
  switch (comparison) {
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

constexpr std::string_view text_of(Comparison comparison) {
  switch (comparison) {
    case Comparison::kLess:
      return "<";
    case Comparison::kLessEqual:
      return "<=";
    case Comparison::kGreater:
      return ">";
    default:
      return ">=";
  }
}

// For <, <=, > and >=.
bool ordered(Context& context, Comparison comparison, const Value& a, const Value& b) {
  context.spend();
  if (a.is_number() && b.is_number()) {
    bool comparable;
    const int order = compare_numbers(a, b, comparable);
    return comparable && holds(comparison, order);
  }
  if (a.string() && b.string()) {
    context.spend_bytes(std::min(a.string()->size(), b.string()->size()));
    return holds(comparison, a.string()->text().compare(b.string()->text()));
  }
  const List* x = a.list();
  const List* y = b.list();
  const bool lists = x && y && same_class(*x, *y) && (x->flavor == Flavor::kList || is_tuple(*x));
  if (!lists) {
    fail_operands(context, a, b,
                  fmt::format("'{}' not supported between instances of '{}' and '{}'",
                              text_of(comparison), a.type_name(), b.type_name()));
  }
  for (size_t i = 0; i < std::min(x->items.size(), y->items.size()); ++i) {
    if (!equal(context, x->items[i], y->items[i])) {
      return ordered(context, comparison, x->items[i], y->items[i]);
    }
  }
  const size_t m = x->items.size();
  const size_t n = y->items.size();
  return holds(comparison, m < n ? -1 : m > n);
}

}  // namespace

bool less(Context& context, const Value& a, const Value& b) {
  return ordered(context, Comparison::kLess, a, b);
}

bool contains(Context& context, const Value& container, const Value& item) {
  if (const String* text = container.string()) {
    if (!item.string()) {
      context.fail("'in <string>' requires string as left operand, not {}", item.type_name());
    }
    const std::string& needle = item.string()->text();
    context.spend_bytes(text->size());
    return memmem(text->text().data(), text->size(), needle.data(), needle.size()) != nullptr;
  }
  if (const Dict* dict = container.dict()) return dict->find(hash_key(context, item)) != nullptr;
  if (const List* list = container.list()) {
    if (list->flavor == Flavor::kKeys) hash_key(context, item);  // fails where Python does
    for (size_t i = list->consumed; i < list->items.size(); ++i) {
      if (list->flavor == Flavor::kGenerator) list->consumed = i + 1;
      if (equal(context, list->items[i], item)) return true;
    }
    if (list->failure) std::rethrow_exception(list->failure);
    return false;
  }
  if (container.is_undefined()) return false;
  context.fail("argument of type '{}' is not iterable", container.type_name());
}

bool compare(Context& context, Comparison comparison, const Value& a, const Value& b) {
  switch (comparison) {
    case Comparison::kEqual:
      return equal(context, a, b);
    case Comparison::kNotEqual:
      return !equal(context, a, b);
    case Comparison::kLess:
    case Comparison::kLessEqual:
    case Comparison::kGreater:
    case Comparison::kGreaterEqual:
      return ordered(context, comparison, a, b);
    case Comparison::kIn:
      return contains(context, b, a);
    case Comparison::kNotIn:
      return !contains(context, b, a);
  }
  context.fail("no such comparison");
}

namespace {

[[noreturn]] void overflow(Context& context) {
  context.unsupported("an integer that does not fit in 64 bits");
}

int64_t floor_divide(Context& context, int64_t a, int64_t b) {
  if (b == 0) context.fail("integer division or modulo by zero");
  if (b == -1) {
    int64_t result;
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) overflow(context);
    return result;
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

double float_floor_divide(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

int64_t power(Context& context, int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t bit = exponent; bit > 0; bit >>= 1) {
    if ((bit & 1) && __builtin_mul_overflow(result, base, &result)) overflow(context);
    if (bit > 1 && __builtin_mul_overflow(base, base, &base)) overflow(context);
  }
  return result;
}

Value integer_arithmetic(Context& context, Arithmetic op, int64_t a, int64_t b, bool input) {
  int64_t result = 0;
  switch (op) {
    case Arithmetic::kAdd:
      if (__builtin_add_overflow(a, b, &result)) overflow(context);
      return Value(result, input);
    case Arithmetic::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) overflow(context);
      return Value(result, input);
    case Arithmetic::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) overflow(context);
      return Value(result, input);
    case Arithmetic::kDivide:
      if (b == 0) context.fail("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b), input);
    case Arithmetic::kFloorDivide:
      return Value(floor_divide(context, a, b), input);
    case Arithmetic::kModulo:
      if (b == 0) context.fail("integer modulo by zero");
      if (b == -1) return Value(int64_t{0}, input);
      return Value(a - floor_divide(context, a, b) * b, input);
    case Arithmetic::kPower:
      if (b >= 0) return Value(power(context, a, b), input);
      if (a == 0) context.fail("0.0 cannot be raised to a negative power");
      return Value(std::pow(static_cast<double>(a), static_cast<double>(b)), input);
  }
  context.fail("no such operator");
}

Value float_arithmetic(Context& context, Arithmetic op, double a, double b, bool input) {
  const bool divides =
      op == Arithmetic::kDivide || op == Arithmetic::kFloorDivide || op == Arithmetic::kModulo;
  if (divides && b == 0) {
    context.fail("{}", op == Arithmetic::kDivide        ? "float division by zero"
                       : op == Arithmetic::kFloorDivide ? "float floor division by zero"
                                                        : "float modulo");
  }
  switch (op) {
    case Arithmetic::kAdd:
      return Value(a + b, input);
    case Arithmetic::kSubtract:
      return Value(a - b, input);
    case Arithmetic::kMultiply:
      return Value(a * b, input);
    case Arithmetic::kDivide:
      return Value(a / b, input);
    case Arithmetic::kFloorDivide:
      return Value(float_floor_divide(a, b), input);
    case Arithmetic::kModulo:
      return Value(float_modulo(a, b), input);
    case Arithmetic::kPower:
      if (a == 0 && b < 0) context.fail("0.0 cannot be raised to a negative power");
      if (a < 0 && std::trunc(b) != b) context.unsupported("a complex number");
      if (const double result = std::pow(a, b); std::isfinite(result) || !std::isfinite(a * b)) {
        return Value(result, input);
      }
      context.fail("(34, 'Numerical result out of range')");
  }
  context.fail("no such operator");
}

Flavor plain_flavor(const List& list) { return is_tuple(list) ? Flavor::kTuple : list.flavor; }

Value repeat(Context& context, const Value& sequence, int64_t times) {
  const size_t count = times > 0 ? static_cast<size_t>(times) : 0;
  const String* text = sequence.string();
  const size_t each = text ? text->bytes() + 1 : sequence.list()->items.size() * sizeof(Value) + 1;
  if (count > Limits::kMemory / each) context.exhausted("bytes of values", Limits::kMemory);
  context.spend_bytes(count * each);
  if (text) {
    String result;
    for (size_t i = 0; i < count; ++i) result.append(*text);
    return text_like(context, *text, std::move(result));
  }
  std::vector<Value> items;
  for (size_t i = 0; i < count; ++i) {
    items.insert(items.end(), sequence.list()->items.begin(), sequence.list()->items.end());
  }
  return context.list(std::move(items), plain_flavor(*sequence.list()));
}

bool is_repeatable(const Value& value) {
  const List* list = value.list();
  return value.string() || (list && (list->flavor == Flavor::kList || is_tuple(*list)));
}

// What Python says of operands that an operator does not take.
std::string operand_message(Arithmetic op, const Value& a, const Value& b) {
  constexpr std::string_view kTexts[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  if (op == Arithmetic::kAdd && is_repeatable(a) && a.type_name() != "Markup") {
    return fmt::format("can only concatenate {0} (not \"{1}\") to {0}", a.type_name(),
                       b.type_name());
  }
  if (op == Arithmetic::kMultiply && (is_repeatable(a) || is_repeatable(b))) {
    return fmt::format("can't multiply sequence by non-int of type '{}'",
                       is_repeatable(a) ? b.type_name() : a.type_name());
  }
  return fmt::format("unsupported operand type(s) for {}: '{}' and '{}'",
                     kTexts[static_cast<size_t>(op)], a.type_name(), b.type_name());
}

Value add_text(Context& context, const String& a, const String& b) {
  context.spend_bytes(a.size() + b.size());
  const bool escape = a.is_markup() || b.is_markup();
  String result = escape ? escape_text(context, a) : a;
  result.append(escape ? escape_text(context, b) : b);
  return context.text(std::move(result));
}

}  // namespace

Value arithmetic(Context& context, Arithmetic op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const bool input = a.has_input() || b.has_input();
    if (a.is_float() || b.is_float()) {
      return float_arithmetic(context, op, a.as_float(), b.as_float(), input);
    }
    return integer_arithmetic(context, op, a.as_int(), b.as_int(), input);
  }
  if (op == Arithmetic::kAdd && a.string() && b.string()) {
    return add_text(context, *a.string(), *b.string());
  }
  if (op == Arithmetic::kAdd && a.list() && b.list() && same_class(*a.list(), *b.list()) &&
      is_repeatable(a)) {
    std::vector<Value> items = a.list()->items;
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    context.spend(1 + items.size() / 64);
    return context.list(std::move(items), plain_flavor(*a.list()));
  }
  if (op == Arithmetic::kMultiply && is_repeatable(a) && (b.is_int() || b.is_bool())) {
    return repeat(context, a, b.as_int());
  }
  if (op == Arithmetic::kMultiply && is_repeatable(b) && (a.is_int() || a.is_bool())) {
    return repeat(context, b, a.as_int());
  }
  if (op == Arithmetic::kModulo && a.string()) {
    return context.text(format_percent(context, *a.string(), b));
  }
  fail_operands(context, a, b, operand_message(op, a, b));
}

Value positive(Context& context, const Value& value) {
  if (value.is_float()) return value;
  if (value.is_number()) return Value(value.as_int(), value.has_input());
  if (value.is_undefined()) context.fail_undefined(value);
  context.fail("bad operand type for unary +: '{}'", value.type_name());
}

Value negate(Context& context, const Value& value) {
  if (value.is_float()) return Value(-value.as_float(), value.has_input());
  if (value.is_number()) {
    return integer_arithmetic(context, Arithmetic::kSubtract, 0, value.as_int(), value.has_input());
  }
  if (value.is_undefined()) context.fail_undefined(value);
  context.fail("bad operand type for unary -: '{}'", value.type_name());
}

size_t length(Context& context, const Value& value) {
  if (const String* text = value.string()) {
    context.spend_bytes(text->size());
    return character_count(text->text());
  }
  if (const List* list = value.list(); list && list->flavor != Flavor::kGenerator) {
    return list->items.size();
  }
  if (const Dict* dict = value.dict()) return dict->entries.size();
  if (const Loop* loop = value.loop()) return loop->items.size();
  if (value.is_undefined()) return 0;
  context.fail("object of type '{}' has no len()", value.type_name());
}

bool is_iterable(const Value& value) {
  return value.string() || value.list() || value.dict() || value.loop() || value.is_undefined();
}

std::vector<Value> iterate(Context& context, const Value& value) {
  std::vector<Value> items;
  if (const String* text = value.string()) {
    context.spend_bytes(text->size());
    context.spend(character_count(text->text()));  // before there are offsets of that many
    const std::vector<size_t> offsets = character_offsets(text->text());
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      items.push_back(context.text(text->part(offsets[i], offsets[i + 1])));
    }
  } else if (const List* list = value.list()) {
    context.spend(1 + list->items.size() / 64);
    context.charge(list->items.size() * sizeof(Value));
    items.assign(list->items.begin() + static_cast<ptrdiff_t>(list->consumed), list->items.end());
    if (list->failure) std::rethrow_exception(list->failure);
    if (list->flavor == Flavor::kGenerator) list->consumed = list->items.size();
  } else if (const Dict* dict = value.dict()) {
    context.spend(1 + dict->entries.size() / 64);
    context.charge(dict->entries.size() * sizeof(Value));
    for (const auto& [key, unused] : dict->entries) items.push_back(key);
  } else if (value.loop()) {
    context.unsupported("iterating over loop");
  } else if (!value.is_undefined()) {
    context.fail("'{}' object is not iterable", value.type_name());
  }
  return items;
}

namespace {

void write_items(Context& context, const List& list, std::string& out, int depth);

void write_representation(Context& context, const Value& value, std::string& out, int depth) {
  context.spend();
  if (depth > Limits::kValueDepth) context.exhausted("levels of values", Limits::kValueDepth);
  if (const String* text = value.string()) {
    context.spend_bytes(text->size());
    const std::string quoted = quoted_text(text->text());
    out += text->is_markup() ? "Markup(" + quoted + ")" : quoted;
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else if (value.is_none()) {
    out += "None";
  } else if (value.is_bool()) {
    out += value.as_int() ? "True" : "False";
  } else if (value.is_int()) {
    out += fmt::format("{}", value.as_int());
  } else if (value.is_float()) {
    out += float_text(value.as_float());
  } else if (const List* list = value.list()) {
    write_items(context, *list, out, depth);
  } else if (value.dict() || value.name_space()) {
    out += value.dict() ? "{" : "<Namespace {";
    std::string_view separator = "";
    if (const Dict* dict = value.dict()) {
      for (const auto& [key, item] : dict->entries) {
        out += separator;
        write_representation(context, key, out, depth + 1);
        out += ": ";
        write_representation(context, item, out, depth + 1);
        separator = ", ";
      }
    } else {
      for (const auto& [name, item] : value.name_space()->attributes) {
        out += separator;
        out += quoted_text(name) + ": ";
        write_representation(context, item, out, depth + 1);
        separator = ", ";
      }
    }
    out += value.dict() ? "}" : "}>";
  } else {
    context.unsupported("a '{}' as text", value.type_name());
  }
  if (out.size() > Limits::kMemory) context.exhausted("bytes of values", Limits::kMemory);
}

void write_items(Context& context, const List& list, std::string& out, int depth) {
  std::string_view open = "[";
  std::string_view close = "]";
  switch (list.flavor) {
    case Flavor::kList:
      break;
    case Flavor::kTuple:
    case Flavor::kGroup:
      open = "(";
      close = list.items.size() == 1 ? ",)" : ")";
      break;
    case Flavor::kKeys:
      open = "dict_keys([";
      close = "])";
      break;
    case Flavor::kValues:
      open = "dict_values([";
      close = "])";
      break;
    case Flavor::kItems:
      open = "dict_items([";
      close = "])";
      break;
    case Flavor::kRange:
      out += fmt::format("range({}, {}", list.bounds[0], list.bounds[1]);
      out += list.bounds[2] == 1 ? ")" : fmt::format(", {})", list.bounds[2]);
      return;
    case Flavor::kGenerator:
      context.unsupported("a generator (use |list) as text");
  }
  out += open;
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out += ", ";
    write_representation(context, list.items[i], out, depth + 1);
  }
  out += close;
}

}  // namespace

std::string representation(Context& context, const Value& value) {
  std::string out;
  write_representation(context, value, out, 0);
  context.charge(out.size());
  return out;
}

String to_string(Context& context, const Value& value) {
  if (const String* text = value.string()) return *text;
  if (value.is_undefined()) return String();
  return String(representation(context, value), value.has_input());
}

int64_t to_index(Context& context, const Value& value, std::string_view what) {
  if (value.is_undefined()) context.fail_undefined(value);
  if (!value.is_int() && !value.is_bool()) {
    context.fail("'{}' object cannot be interpreted as an integer ({})", value.type_name(), what);
  }
  return value.as_int();
}

const String& to_text(Context& context, const Value& value, std::string_view what) {
  if (value.is_undefined()) context.fail_undefined(value);
  if (!value.string()) context.fail("{} must be str, not {}", what, value.type_name());
  return *value.string();
}

}  // namespace adze::text::chat
