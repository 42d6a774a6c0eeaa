// Stop strings in text that arrives in pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adze::text {

// Lets text through up to the first stop string, holding back what may be the beginning of one.
// What it lets through in all does not depend on how the text is cut into pieces. Time is
// proportional to text × number of stop strings (Knuth, Morris, Pratt, "Fast pattern matching in
// strings", 1977). Not for several threads at once.
class StopMatcher {
 public:
  // Throws Error{kInvalidInput} where a stop string is empty or not UTF-8.
  explicit StopMatcher(std::span<const std::string> stops);

  // Takes more text, whole characters, and returns what can be shown now. The stop string that is
  // complete first wins; of those complete at the same byte the one that began first. Neither it
  // nor anything behind it is returned.
  std::string push(std::string_view text);

  // The end of the stream: what was held back.
  std::string flush();

  bool stopped() const { return matched_.has_value(); }
  // Which stop string was found, as an index into those given.
  std::optional<size_t> matched() const { return matched_; }

 private:
  struct Stop {
    std::string text;
    std::vector<size_t>
        borders;  // by length of prefix − 1: its longest proper prefix that is its suffix too
    size_t matched = 0;  // bytes of this that the text so far ends with
  };
  static void advance(Stop& stop, char byte);

  std::vector<Stop> stops_;
  std::string held_;
  std::optional<size_t> matched_;
};

}  // namespace adze::text
