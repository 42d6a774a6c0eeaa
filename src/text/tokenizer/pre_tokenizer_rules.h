// The rules by which text is split into words, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace adze::text {

// One way of splitting: each match is a piece, and so is what lies between matches. The patterns
// stand in pre_tokenizer_rules.cc.
enum class SplitRule : uint8_t {
  kGpt2,
  kLlama3,
  kQwen2,
  kQwen35,
  kO200k,
  kTekken,
  kDigit,            // each digit on its own
  kDigits,           // runs of digits
  kDigitTriples,     // runs of digits, from the left in threes
  kAsciiTriple,      // three ASCII digits
  kByteLevelDigits,  // runs of what are digits in the byte-level spelling of the text
  kPunctuation,      // runs of punctuation
  kLineBreak,
  kTrailingBlanks,
  kBlankLetters,      // a blank and letters
  kBlankPunctuation,  // a blank and punctuation
  kDeepseekLetters,
  kDeepseekPunctuation,
  kDeepseekCjk,
  kDeepseek3Cjk,
  kDeepseek3,
  kBlanksWithNext,  // SentencePiece: each blank begins a word
};
inline constexpr size_t kSplitRuleCount = static_cast<size_t>(SplitRule::kBlanksWithNext) + 1;

struct PreTokenizerRules {
  std::vector<SplitRule> splits;  // each applied to the pieces that the one before left
  bool ignores_merges = false;    // a word that is a token is that token, whatever the merges say
  bool normalizes_nfc = false;    // text is brought into Unicode's normalization form C first
};

// The rules that GGUF's tokenizer.ggml.pre names; nothing for names that are not supported.
std::optional<PreTokenizerRules> pre_tokenizer_named(std::string_view name);

// The rule for a regular expression as tokenizer.json writes it; nothing where none is known to be
// equal.
std::optional<SplitRule> split_rule_of(std::string_view pattern);

// A rule's regular expression for PCRE2, \s and \S as there. Empty for those that have none
// (kTrailingBlanks, kAsciiTriple, kByteLevelDigits, kBlanksWithNext).
std::string_view split_pattern(SplitRule rule);

}  // namespace adze::text
