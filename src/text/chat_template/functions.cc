// Global functions, and how arguments reach any builtin.
#include <algorithm>
#include <ctime>

#include "text/chat_template/builtins.h"
#include "text/chat_template/operators.h"

namespace adze::text::chat {
namespace {

Value raise_exception(Call& call) {
  call.context.fail("{}", to_string(call.context, call[0]).text());
}

Value strftime_now(Call& call) {
  const std::string& format = to_text(call.context, call[0], "the format").text();
  if (format.size() > 1024) call.context.exhausted("bytes of a time's format", 1024);
  if (format.empty()) return call.context.text("");
  const std::time_t now = std::time(nullptr);
  std::tm local;
  localtime_r(&now, &local);
  std::array<char, 8192> buffer;
  const size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  return call.context.text(std::string_view(buffer.data(), size), call[0].has_input());
}

Value range(Call& call) {
  Context& context = call.context;
  const std::vector<Value>& given = call.raw.positional;
  if (given.empty() || given.size() > 3 || !call.raw.keywords.empty()) {
    context.fail("range expected 1 to 3 positional arguments");
  }
  const auto number = [&](size_t i) { return to_index(context, given[i], "range()'s argument"); };
  const int64_t begin = given.size() == 1 ? 0 : number(0);
  const int64_t end = given.size() == 1 ? number(0) : number(1);
  const int64_t step = given.size() == 3 ? number(2) : 1;
  if (step == 0) context.fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<int64_t>(items.size()) == Limits::kRange) {
      context.exhausted("items of range()", static_cast<uint64_t>(Limits::kRange));
    }
    items.emplace_back(i, false);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return context.range(std::move(items), {begin, end, step});
}

void add_keywords(Context& context, const Arguments& arguments, std::vector<Pair>& entries) {
  for (const auto& [name, value] : arguments.keywords) {
    entries.emplace_back(context.text(name, true), value);  // it may come from **input
  }
}

// dict() of pairs.
std::vector<Pair> collect_pairs(Context& context, const Value& source) {
  std::vector<Pair> entries;
  for (const Value& item : iterate(context, source)) {
    const size_t number = entries.size();
    if (!is_iterable(item)) {
      context.fail("cannot convert dictionary update sequence element #{} to a sequence", number);
    }
    std::vector<Value> pair = iterate(context, item);
    if (pair.size() != 2) {
      context.fail("dictionary update sequence element #{} has length {}; 2 is required", number,
                   pair.size());
    }
    entries.emplace_back(std::move(pair[0]), std::move(pair[1]));
  }
  return entries;
}

// `namespace(…)` and `dict(…)`: of a mapping or of pairs, then the keywords.
Value make_dict(Call& call) {
  std::vector<Pair> entries;
  const std::vector<Value>& given = call.raw.positional;
  if (given.size() > 1) {
    call.context.fail("dict expected at most 1 argument, got {}", given.size());
  }
  if (!given.empty()) {
    if (given[0].is_undefined()) call.context.fail_undefined(given[0]);
    entries = given[0].dict() ? given[0].dict()->entries : collect_pairs(call.context, given[0]);
  }
  add_keywords(call.context, call.raw, entries);
  return call.context.dict(std::move(entries));
}

// Jinja's name for the template itself, which has blocks where there are any.
Value self_reference(Call& call) {
  call.context.fail("'TemplateReference' object is not callable");
}

Value make_namespace(Call& call) {
  const Value made = make_dict(call);
  std::vector<std::pair<std::string, Value>> attributes;
  for (const auto& [key, value] : made.dict()->entries) {
    attributes.emplace_back(to_text(call.context, key, "an attribute's name").text(), value);
  }
  return call.context.name_space(std::move(attributes));
}

constexpr auto kRows = std::to_array<Builtin>({
    {"raise_exception", {"message"}, 1, raise_exception},
    {"strftime_now", {"format"}, 1, strftime_now},
    {"range", {}, 0, range, true},
    {"dict", {}, 0, make_dict, true},
    {"namespace", {}, 0, make_namespace, true},
    {"self", {}, 0, self_reference, true},
});

size_t parameter_count(const Builtin& builtin) {
  const auto end = std::find(builtin.parameters.begin(), builtin.parameters.end(), "");
  return static_cast<size_t>(end - builtin.parameters.begin());
}

}  // namespace

Value keyword_dict(Context& context, const Arguments& arguments) {
  std::vector<Pair> entries;
  add_keywords(context, arguments, entries);
  return context.dict(std::move(entries));
}

const Builtin* find_function(std::string_view name) { return find_row(kRows, name); }

bool is_missing_function(std::string_view name) {
  return name == "cycler" || name == "joiner" || name == "lipsum" || name == "super";
}

bool is_missing_filter(std::string_view name) {
  static constexpr std::string_view kNames[] = {"filesizeformat", "pprint", "random",   "striptags",
                                                "urlencode",      "urlize", "wordwrap", "xmlattr"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

const Builtin* find_filter(std::string_view name) {
  const Builtin* filter = find_text_filter(name);
  return filter ? filter : find_sequence_filter(name);
}

Value call_builtin(Context& context, const Builtin& builtin, const Value& self,
                   const Arguments& arguments) {
  context.spend();
  Call call{context, self, {}, arguments};
  if (!builtin.variadic) {
    const size_t count = parameter_count(builtin);
    if (arguments.positional.size() > count) {
      context.fail("{}() takes at most {} arguments ({} given)", builtin.name, count,
                   arguments.positional.size());
    }
    call.arguments.assign(arguments.positional.begin(), arguments.positional.end());
    call.arguments.resize(count);
    for (const auto& [name, value] : arguments.keywords) {
      const auto* const end = builtin.parameters.begin() + count;
      const auto* const place = std::find(builtin.parameters.begin(), end, name);
      if (place == end) {
        context.fail("{}() got an unexpected keyword argument '{}'", builtin.name, printable(name));
      }
      auto& slot = call.arguments[static_cast<size_t>(place - builtin.parameters.begin())];
      if (slot) context.fail("{}() got multiple values for '{}'", builtin.name, name);
      slot = value;
    }
    for (size_t i = 0; i < builtin.required; ++i) {
      if (!call.has(i)) {
        context.fail("{}() missing 1 required positional argument: '{}'", builtin.name,
                     builtin.parameters[i]);
      }
    }
  }
  return builtin.run(call);
}

}  // namespace adze::text::chat
