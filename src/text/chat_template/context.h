// What one render may spend and where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/chat_template/value.h"

namespace adze::text::chat {

struct Limits {
  static constexpr uint64_t kSteps = 1'000'000;   // nodes evaluated, items, 256 bytes walked
  static constexpr uint64_t kOutput = 4 << 20;    // bytes of text written
  static constexpr uint64_t kMemory = 256 << 20;  // bytes of all values ever made
  static constexpr int kValueDepth = 100;         // containers in containers
  static constexpr int kRecursion = 600;          // nodes within nodes, through macros too
  static constexpr int kParserDepth = 120;        // nodes within nodes in the source
  static constexpr int64_t kRange = 100'000;      // items of range()
  static constexpr size_t kSourceSize = 1 << 20;  // bytes of a template
  static constexpr size_t kMessage = 2000;        // templates give long ones to raise_exception()
};

// Counts a render's spending, makes its values and reports its failures with the template's name
// and line. Also the one way to values: all of them are charged for. One render, one thread.
class Context {
 public:
  explicit Context(const std::string& name) : name_(name) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  void set_line(int line) { line_ = line; }
  int line() const { return line_; }

  // One level of recursion, for as long as it lives.
  class Level {
   public:
    explicit Level(Context& context) : context_(context) {
      if (context.level_ >= Limits::kRecursion) {
        context.exhausted("levels of recursion", Limits::kRecursion);
      }
      ++context.level_;
    }
    ~Level() { --context_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Context& context_;
  };

  // Throws Error{kResourceExhausted} where a budget is spent.
  void spend(uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > Limits::kSteps) exhausted("steps", Limits::kSteps);
  }
  void spend_bytes(size_t bytes) { spend(1 + bytes / 256); }  // for walking over text
  void charge(uint64_t bytes) {
    memory_ += bytes;
    if (memory_ > Limits::kMemory) exhausted("bytes of values", Limits::kMemory);
  }
  // For text that grows: throws where it is larger than all values together may be.
  void bound(const String& growing) const {
    if (growing.bytes() > Limits::kMemory) exhausted("bytes of values", Limits::kMemory);
  }
  [[noreturn]] void exhausted(std::string_view what, uint64_t limit) const;

  // Error{kInvalidInput}: where Python raises an exception.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    report(ErrorKind::kInvalidInput, fmt::format(format, std::forward<Args>(args)...));
  }
  // Error{kUnsupported}: where Python has something that is not here.
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    report(ErrorKind::kUnsupported,
           fmt::format(format, std::forward<Args>(args)...) + " is not supported");
  }
  // For use of an undefined value; a plain failure otherwise.
  [[noreturn]] void fail_undefined(const Value& value) const;

  // With what a message says where it is used, of which it keeps the beginning.
  Value undefined(std::string message);
  Value text(String text);
  Value text(std::string_view text, bool from_input = false);
  Value list(std::vector<Value> items, Flavor flavor = Flavor::kList);
  Value range(std::vector<Value> items, std::array<int64_t, 3> bounds);
  // Items and then, unless it is null, a failure, which whoever asks for more than the items gets:
  // Python's generators compute when they are asked.
  Value generator(std::vector<Value> items, std::exception_ptr failure = nullptr);
  // Later entries replace earlier ones with an equal key.
  Value dict(std::vector<Pair> entries);
  Value name_space(std::vector<std::pair<std::string, Value>> attributes);
  Value method(Value self, const Builtin* builtin);
  Value loop(std::shared_ptr<Loop> state);

 private:
  std::shared_ptr<List> make_list(std::vector<Value> items, Flavor flavor);
  [[noreturn]] void report(ErrorKind kind, const std::string& message) const;
  int checked_depth(int inner) const;

  const std::string& name_;
  int line_ = 1;
  uint64_t steps_ = 0;
  uint64_t memory_ = 0;
  int level_ = 0;
  // A namespace can be made to hold itself; emptied at the end.
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

// Text that is equal for keys Python holds for the same. Throws where a value is not hashable.
std::string hash_key(Context& context, const Value& value);

}  // namespace adze::text::chat
