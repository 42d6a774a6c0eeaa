// Vocabularies made from a fuzzer's bytes.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/vocabulary.h"

namespace adze::fuzz {

// A byte-level vocabulary: token i < 256 is byte i, then one token for each merge that makes a new
// one.
struct ByteLevelMade {
  text::VocabularyData data;
  std::vector<std::string> bytes;               // what each token stands for
  std::map<std::string, text::TokenId> ids;     // by those bytes
  std::map<std::pair<int, int>, size_t> ranks;  // of a merge of two tokens; the last one counts
};

inline ByteLevelMade make_byte_level(FuzzedDataProvider& input, size_t most_merges) {
  ByteLevelMade made;
  made.data.model = "gpt2";
  const auto add = [&](const std::string& bytes) {
    std::string spelling;
    text::append_byte_level(bytes, spelling);
    made.data.tokens.add(spelling);
    made.data.types.push_back(text::TokenType::kNormal);
    made.ids.emplace(bytes, static_cast<int>(made.bytes.size()));
    made.bytes.push_back(bytes);
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  const auto merges = input.ConsumeIntegralInRange<size_t>(0, most_merges);
  for (size_t rank = 0; rank < merges; ++rank) {
    const auto last = static_cast<int>(made.bytes.size()) - 1;
    const auto left = input.ConsumeIntegralInRange<int>(0, last);
    const auto right = input.ConsumeIntegralInRange<int>(0, last);
    const std::string& first = made.bytes[static_cast<size_t>(left)];
    const std::string& second = made.bytes[static_cast<size_t>(right)];
    const std::string joined = first + second;
    if (joined.size() > 16) continue;
    std::string line;
    text::append_byte_level(first, line);
    line += ' ';
    text::append_byte_level(second, line);
    made.data.merges.add(line);
    made.ranks[{left, right}] = rank;
    if (!made.ids.contains(joined)) add(joined);
  }
  return made;
}

}  // namespace adze::fuzz
