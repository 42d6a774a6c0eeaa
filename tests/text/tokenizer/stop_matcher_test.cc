#include "text/tokenizer/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"

namespace adze::text {
namespace {

// By definition: the shortest prefix of the text that ends with a stop string, less the longest
// such.
std::string expected_text(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop)) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

// What may still become part of a stop string is held back, nothing else.
size_t held_back(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t length = text.size(); length > 0; --length) {
    for (const std::string& stop : stops) {
      if (length < stop.size() && text.ends_with(stop.substr(0, length))) return length;
    }
  }
  return 0;
}

TEST(StopMatcher, AgreesWithItsDefinitionHoweverTheTextIsCut) {
  std::mt19937 random(11);
  const auto random_text = [&](size_t length) {
    std::string text(length, '\0');
    for (char& letter : text) letter = "ab"[random() % 2];
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops(1 + random() % 3);
    for (std::string& stop : stops) stop = random_text(1 + random() % 7);
    const std::string text = random_text(random() % 40);
    StopMatcher matcher(stops);
    std::string seen;
    std::string shown;
    for (size_t position = 0; position < text.size();) {
      const std::string piece = text.substr(position, 1 + random() % 5);
      position += piece.size();
      seen += piece;
      shown += matcher.push(piece);
      if (matcher.stopped()) break;
      EXPECT_EQ(shown.size(), seen.size() - held_back(seen, stops));
    }
    const bool stopped = matcher.stopped();
    shown += matcher.flush();
    const std::string expected = expected_text(text, stops);
    EXPECT_EQ(shown, expected) << text;
    EXPECT_EQ(stopped, expected.size() < text.size()) << text;
    if (stopped) {
      EXPECT_TRUE(text.substr(shown.size()).starts_with(stops[*matcher.matched()]));
      EXPECT_EQ(matcher.push("more"), "");
    }
  }
}

TEST(StopMatcher, NeverCutsACharacter) {
  const std::vector<std::string> stops = {"é!"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("aè"), "aè");  // shares its first byte with é
  EXPECT_EQ(matcher.push("é"), "");
  EXPECT_EQ(matcher.push("é"), "é");
  EXPECT_EQ(matcher.push("?"), "é?");
}

TEST(StopMatcher, RefusesEmptyAndInvalidStops) {
  EXPECT_THROW(StopMatcher(std::vector<std::string>{""}), Error);
  EXPECT_THROW(StopMatcher(std::vector<std::string>{"ok", "\xff"}), Error);
  StopMatcher none{std::vector<std::string>{}};
  EXPECT_EQ(none.push("text"), "text");
}

}  // namespace
}  // namespace adze::text
