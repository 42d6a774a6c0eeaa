#include "text/chat_template/tracked_string.h"

#include <algorithm>
#include <cassert>

namespace adze::text::chat {

String::String(std::string text, bool from_input) : text_(std::move(text)) {
  if (from_input) add_range(0, text_.size());
}

void String::add_range(size_t begin, size_t end) {
  if (begin == end) return;
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
  } else {
    ranges_.push_back({begin, end});
  }
}

bool String::has_input(size_t begin, size_t end) const {
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](size_t at, const InputRange& r) { return at < r.end; });
  return range != ranges_.end() && range->begin < end;
}

void String::append(std::string_view text, bool from_input) {
  const size_t begin = text_.size();
  text_ += text;
  if (from_input) add_range(begin, text_.size());
}

void String::append_part(const String& other, size_t begin, size_t end) {
  assert(begin <= end && end <= other.size());
  append_as(std::string_view(other.text_).substr(begin, end - begin), other, begin);
}

void String::append_as(std::string_view text, const String& other, size_t begin) {
  const size_t end = begin + text.size();
  assert(&other != this && end <= other.size());
  const size_t base = text_.size();
  text_ += text;
  auto range = std::upper_bound(other.ranges_.begin(), other.ranges_.end(), begin,
                                [](size_t at, const InputRange& r) { return at < r.end; });
  for (; range != other.ranges_.end() && range->begin < end; ++range) {
    add_range(base + std::max(range->begin, begin) - begin,
              base + std::min(range->end, end) - begin);
  }
}

String String::part(size_t begin, size_t end) const {
  String result;
  result.append_part(*this, begin, end);
  return result;
}

}  // namespace adze::text::chat
