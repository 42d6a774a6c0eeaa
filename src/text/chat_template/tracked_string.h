// Text that knows which of its bytes came from a request.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adze::text::chat {

struct InputRange {
  size_t begin;
  size_t end;
};

// Bytes, UTF-8 by convention, with the sorted, disjoint, non-adjacent ranges of them that are
// input: a chat template's own text is trusted to spell control tokens such as <|im_end|>, a
// message's is not (CVE-2026-44222). Every operation on text is made of append() and append_part(),
// so that ranges follow their bytes.
class String {
 public:
  String() = default;
  explicit String(std::string text, bool from_input = false);

  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  // What it takes: the text, and where it came from.
  size_t bytes() const { return text_.size() + ranges_.size() * sizeof(InputRange); }
  std::span<const InputRange> input_ranges() const { return ranges_; }

  bool has_input() const { return !ranges_.empty(); }
  // Whether any byte of [begin, end) is input.
  bool has_input(size_t begin, size_t end) const;

  void append(std::string_view text, bool from_input = false);
  void append(const String& other) { append_part(other, 0, other.size()); }
  // Bytes [begin, end) of `other`, which must not be this string.
  void append_part(const String& other, size_t begin, size_t end);
  // Text that stands for as many bytes of `other`, those from `begin` on.
  void append_as(std::string_view text, const String& other, size_t begin);

  String part(size_t begin, size_t end) const;

  // Whether it is Jinja's Markup, which `|safe` and `|escape` make: text that joins it by + or % is
  // escaped. What is made of parts is not markup until it is said to be.
  bool is_markup() const { return markup_; }
  void set_markup(bool markup) { markup_ = markup; }

 private:
  void add_range(size_t begin, size_t end);

  std::string text_;
  std::vector<InputRange> ranges_;
  bool markup_ = false;
};

}  // namespace adze::text::chat
