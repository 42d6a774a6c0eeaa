#include "text/tokenizer/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace adze::text {

StopMatcher::StopMatcher(std::span<const std::string> stops) {
  for (const std::string& text : stops) {
    if (text.empty()) throw_invalid("stop string: empty");
    if (utf8_valid_prefix(text) != text.size()) {
      throw_invalid("stop string \"{}\": not UTF-8", printable(text));
    }
    Stop& stop = stops_.emplace_back(Stop{text, std::vector<size_t>(text.size(), 0)});
    for (size_t i = 1; i < text.size(); ++i) {
      // Matching the string against itself, one byte behind.
      advance(stop, text[i]);
      stop.borders[i] = stop.matched;
    }
    stop.matched = 0;
  }
}

void StopMatcher::advance(Stop& stop, char byte) {
  while (stop.matched > 0 && stop.text[stop.matched] != byte) {
    stop.matched = stop.borders[stop.matched - 1];
  }
  if (stop.text[stop.matched] == byte) ++stop.matched;
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped()) return {};
  held_ += text;
  const size_t seen = held_.size() - text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    for (size_t s = 0; s < stops_.size(); ++s) {
      advance(stops_[s], text[i]);
      const bool complete = stops_[s].matched == stops_[s].text.size();
      if (complete && (!matched_ || stops_[s].text.size() > stops_[*matched_].text.size())) {
        matched_ = s;
      }
    }
    if (matched_) {
      held_.resize(seen + i + 1 - stops_[*matched_].text.size());
      return std::exchange(held_, {});
    }
  }
  size_t hold = 0;
  for (const Stop& stop : stops_) hold = std::max(hold, stop.matched);
  std::string out = held_.substr(0, held_.size() - hold);
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::flush() {
  for (Stop& stop : stops_) stop.matched = 0;
  return std::exchange(held_, {});
}

}  // namespace adze::text
