// Text that arrives token by token: the streaming detokenizer against decoding the whole, and stop
// strings against a search in the whole text.
#include <optional>

#include "fuzz/properties.h"
#include "fuzz/vocabularies.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/stop_matcher.h"
#include "text/tokenizer/tokenizer.h"

using namespace adze;

namespace {

struct Expected {
  std::string text;
  std::optional<size_t> matched;
};

// The stop string that is complete first, the longest of several; before it the text.
Expected search(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<size_t> best;
    for (size_t i = 0; i < stops.size(); ++i) {
      const bool longer = !best || stops[i].size() > stops[*best].size();
      if (longer && std::string_view(text).substr(0, end).ends_with(stops[i])) best = i;
    }
    if (best) return {text.substr(0, end - stops[*best].size()), best};
  }
  return {text, std::nullopt};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  fuzz::ByteLevelMade made = fuzz::make_byte_level(input, 16);
  std::vector<std::string> stops(input.ConsumeIntegralInRange<size_t>(0, 3));
  for (std::string& stop : stops) stop = input.ConsumeRandomLengthString(6);
  std::vector<text::TokenId> tokens;
  while (input.remaining_bytes() > 0 && tokens.size() < 500) {
    tokens.push_back(input.ConsumeIntegralInRange<int>(0, static_cast<int>(made.bytes.size()) - 1));
  }
  const auto tokenizer = text::make_tokenizer(std::move(made.data));

  std::string bytes;
  for (const text::TokenId id : tokens) bytes += made.bytes[static_cast<size_t>(id)];
  const std::string whole = fuzz::reference_replace(bytes);
  fuzz::require(tokenizer->decode(tokens) == whole, "decode()");

  text::StreamingDetokenizer detokenizer(*tokenizer);
  std::vector<std::string> pieces;
  std::string joined;
  for (const text::TokenId id : tokens) pieces.push_back(detokenizer.push(id));
  pieces.push_back(detokenizer.flush());
  for (const std::string& piece : pieces) {
    fuzz::require(fuzz::is_utf8(piece), "pieces are whole characters");
    joined += piece;
  }
  fuzz::require(joined == whole, "the pieces are the whole");

  bool usable = true;
  for (const std::string& stop : stops) usable = usable && !stop.empty() && fuzz::is_utf8(stop);
  std::optional<text::StopMatcher> matcher;
  fuzz::require(fuzz::succeeds([&] { matcher.emplace(stops); }) == usable,
                "stop strings are neither empty nor other than UTF-8");
  if (!usable) return 0;
  std::string shown;
  for (const std::string& piece : pieces) shown += matcher->push(piece);
  shown += matcher->flush();
  const Expected expected = search(whole, stops);
  fuzz::require(shown == expected.text, "text up to the stop string");
  fuzz::require(matcher->matched() == expected.matched, "which stop string it was");
  return 0;
}
