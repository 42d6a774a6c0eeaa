#include "text/tokenizer/pre_tokenizer_rules.h"

#include <array>
#include <span>

namespace adze::text {
namespace {

// The patterns as their models publish them. What Unicode 15 to 17 added to \p{N} is named where
// digits stand alone, since Debian 12's PCRE2 has the tables of Unicode 14.
#define ADZE_DIGITS                                                                       \
  R"([\p{N}\x{10d40}-\x{10d49}\x{116d0}-\x{116e3}\x{11bf0}-\x{11bf9}\x{11de0}-\x{11de9})" \
  R"(\x{11f50}-\x{11f59}\x{16130}-\x{16139}\x{16d70}-\x{16d79}\x{16ff4}-\x{16ff6})"       \
  R"(\x{1ccf0}-\x{1ccf9}\x{1d2c0}-\x{1d2d3}\x{1e4f0}-\x{1e4f9}\x{1e5f1}-\x{1e5fa}])"
#define ADZE_WORD_ENDINGS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define ADZE_BLANKS R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define ADZE_CAPITALS R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define ADZE_SMALL R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"

struct Pattern {
  SplitRule rule;
  std::string_view text;
};
constexpr Pattern kPatterns[] = {
    {SplitRule::kGpt2,
     R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {SplitRule::kLlama3, ADZE_WORD_ENDINGS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                                           R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ADZE_BLANKS},
    {SplitRule::kQwen2, ADZE_WORD_ENDINGS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                          R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|)" ADZE_BLANKS},
    {SplitRule::kQwen35, ADZE_WORD_ENDINGS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
                                           R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" ADZE_BLANKS},
    {SplitRule::kO200k, R"([^\r\n\p{L}\p{N}]?)" ADZE_CAPITALS "*" ADZE_SMALL "+" ADZE_WORD_ENDINGS
                        R"(?|[^\r\n\p{L}\p{N}]?)" ADZE_CAPITALS "+" ADZE_SMALL "*" ADZE_WORD_ENDINGS
                        R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" ADZE_BLANKS},
    {SplitRule::kTekken,
     R"([^\r\n\p{L}\p{N}]?)" ADZE_CAPITALS "*" ADZE_SMALL R"(+|[^\r\n\p{L}\p{N}]?)" ADZE_CAPITALS
     "+" ADZE_SMALL R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" ADZE_BLANKS},
    {SplitRule::kDigit, ADZE_DIGITS},
    {SplitRule::kDigits, ADZE_DIGITS "+"},
    {SplitRule::kDigitTriples, ADZE_DIGITS "{1,3}"},
    {SplitRule::kPunctuation, R"([\p{P}$+<=>^`|~]+)"},
    {SplitRule::kLineBreak, R"([\r\n])"},
    {SplitRule::kBlankLetters, R"(\s?\p{L}+)"},
    {SplitRule::kBlankPunctuation, R"(\s?\p{P}+)"},
    {SplitRule::kDeepseekLetters,
     "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293"
     "\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c"
     "\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0"
     "-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-"
     "\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b"
     "\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-"
     "\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113"
     "\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
     "\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3"
     "\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00"
     "-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-"
     "\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-"
     "\U000118df\U0001e900-\U0001e943]+"},
    {SplitRule::kDeepseekPunctuation,
     "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"},
    {SplitRule::kDeepseekCjk, "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"},
    {SplitRule::kDeepseek3Cjk, "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"},
    {SplitRule::kDeepseek3,
     R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
     R"(| ?[\p{P}\p{S}]+[\r\n]*|)" ADZE_BLANKS},
};

// What tokenizer.json files have for rules that are no pattern here, and other spellings of those
// that are.
constexpr Pattern kSpellings[] = {
    {SplitRule::kGpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
                       R"(|\s+(?!\S)|\s+)"},
    {SplitRule::kLineBreak, "[\r\n]"},
    {SplitRule::kTrailingBlanks, R"(\s+$)"},
    {SplitRule::kAsciiTriple, R"([0-9][0-9][0-9])"},
    {SplitRule::kDigit, R"(\p{N})"},
    {SplitRule::kDigits, R"(\p{N}+)"},
    {SplitRule::kDigitTriples, R"(\p{N}{1,3})"},
    {SplitRule::kDeepseek3,
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
     "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
};

struct Named {
  std::string_view name;
  std::array<SplitRule, 6> splits;
  size_t count;
  bool ignores_merges = false;
  bool normalizes_nfc = false;
};
using enum SplitRule;
constexpr Named kNamed[] = {
    {"gpt-2", {kGpt2}, 1},
    {"mpt", {kGpt2}, 1, false, true},
    {"smollm", {kDigit, kGpt2}, 2},
    {"starcoder", {kDigit, kGpt2}, 2},
    {"refact", {kDigit, kGpt2}, 2},
    {"command-r", {kDigit, kGpt2}, 2, false, true},
    {"default", {kPunctuation, kGpt2, kDigits, kAsciiTriple}, 4},
    {"falcon", {kPunctuation, kGpt2, kByteLevelDigits, kAsciiTriple}, 4},
    {"llama-bpe", {kLlama3}, 1, true},
    {"llama3", {kLlama3}, 1, true},
    {"llama-v3", {kLlama3}, 1, true},
    {"qwen2", {kQwen2}, 1, false, true},
    {"qwen35", {kQwen35}, 1},
    {"gpt-4o", {kO200k}, 1},
    {"tekken", {kTekken}, 1, true},
    {"deepseek-coder", {kLineBreak, kBlankLetters, kBlankPunctuation, kDeepseekCjk, kDigit}, 5},
    {"deepseek-llm",
     {kLineBreak, kDeepseekLetters, kDeepseekPunctuation, kTrailingBlanks, kDeepseekCjk, kDigit},
     6},
    {"deepseek-v3", {kDigitTriples, kDeepseek3Cjk, kDeepseek3}, 3},
};

}  // namespace

std::optional<PreTokenizerRules> pre_tokenizer_named(std::string_view name) {
  for (const Named& named : kNamed) {
    if (named.name != name) continue;
    const auto splits = std::span(named.splits).first(named.count);
    return PreTokenizerRules{
        {splits.begin(), splits.end()}, named.ignores_merges, named.normalizes_nfc};
  }
  return std::nullopt;
}

std::optional<SplitRule> split_rule_of(std::string_view pattern) {
  for (const Pattern& known : kPatterns) {
    if (known.text == pattern) return known.rule;
  }
  for (const Pattern& known : kSpellings) {
    if (known.text == pattern) return known.rule;
  }
  return std::nullopt;
}

std::string_view split_pattern(SplitRule rule) {
  for (const Pattern& known : kPatterns) {
    if (known.rule == rule) return known.text;
  }
  return {};
}

}  // namespace adze::text
