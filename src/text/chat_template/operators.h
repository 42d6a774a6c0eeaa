// Python's operators and protocols over values. All throw through Context::fail where Python
// raises.
#pragma once

#include <string_view>
#include <vector>

#include "text/chat_template/ast.h"
#include "text/chat_template/context.h"
#include "text/chat_template/value.h"

namespace adze::text::chat {

bool truth(const Value& value);
bool equal(Context& context, const Value& a, const Value& b);
// a < b
bool less(Context& context, const Value& a, const Value& b);
// item in container
bool contains(Context& context, const Value& container, const Value& item);
bool compare(Context& context, Comparison comparison, const Value& a, const Value& b);
Value arithmetic(Context& context, Arithmetic op, const Value& a, const Value& b);
Value positive(Context& context, const Value& value);
Value negate(Context& context, const Value& value);

// len()
size_t length(Context& context, const Value& value);
bool is_iterable(const Value& value);
// The items of iter(value); uses a generator up.
std::vector<Value> iterate(Context& context, const Value& value);

// str() and repr(). What is not text counts wholly as input if anything in it does.
String to_string(Context& context, const Value& value);
std::string representation(Context& context, const Value& value);

// value.name, value[key] and value[begin:end:step] as Jinja resolves them.
Value get_attribute(Context& context, const Value& value, std::string_view name);
Value get_item(Context& context, const Value& value, const Value& key);
Value get_slice(Context& context, const Value& value, const Value& begin, const Value& end,
                const Value& step);

// An argument as int, through __index__; `what` names it.
int64_t to_index(Context& context, const Value& value, std::string_view what);
// An argument that must be str.
const String& to_text(Context& context, const Value& value, std::string_view what);

}  // namespace adze::text::chat
