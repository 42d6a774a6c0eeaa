#include "text/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cassert>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "text/tokenizer/split_scanner.h"

namespace adze::text {
namespace {

// PCRE2's \s has U+180E, which Unicode no longer counts as a blank and other engines do not match:
// \s and \S are replaced by Unicode's White_Space.
std::string with_unicode_blanks(std::string_view pattern) {
  constexpr std::string_view kBlanks = R"(\p{Z}\t-\r\x{85})";
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      const char kind = pattern[++i];
      if (kind == 's' && in_class) {
        out += kBlanks;
      } else if (kind == 's' || kind == 'S') {
        assert(!in_class);
        out.append(kind == 's' ? "[" : "[^").append(kBlanks) += ']';
      } else {
        out.append({'\\', kind});
      }
      continue;
    }
    if (pattern[i] == '[') in_class = true;
    if (pattern[i] == ']') in_class = false;
    out += pattern[i];
  }
  return out;
}

}  // namespace

// A compiled pattern; matching does not change it.
class PreTokenizer::Pattern {
 public:
  explicit Pattern(std::string_view pattern) {
    const std::string source = with_unicode_blanks(pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                          PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    if (code_ == nullptr) {
      throw_internal("pre-tokenizer: error {} at offset {} of {}", error, offset, source);
    }
    // Where the system forbids code made at run time this fails and pcre2_match interprets: slower,
    // the same result.
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);
  }
  ~Pattern() { pcre2_code_free(code_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  const pcre2_code* code() const { return code_; }

 private:
  pcre2_code* code_;
};

struct PreTokenizer::State::Match {
  struct Free {
    void operator()(pcre2_match_data* made) const { pcre2_match_data_free(made); }
    void operator()(pcre2_match_context* made) const { pcre2_match_context_free(made); }
    void operator()(pcre2_jit_stack* made) const { pcre2_jit_stack_free(made); }
  };
  std::unique_ptr<pcre2_match_data, Free> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, Free> context{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, Free> stack{pcre2_jit_stack_create(32 << 10, 64 << 20, nullptr)};

  // The first match in `text` from `start`; an empty one at the end where there is none.
  std::string_view find(const Pattern& pattern, std::string_view text, size_t start) {
    // The text was validated once; checking again for each match would make the whole quadratic.
    const int found =
        pcre2_match(pattern.code(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start,
                    PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) return text.substr(text.size());
    if (found < 0) throw_exhausted("pre-tokenizer: matching failed with PCRE2 error {}", found);
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
    assert(range[1] > range[0]);
    return text.substr(range[0], range[1] - range[0]);
  }
};

PreTokenizer::State::State() : match_(std::make_unique<Match>()) {
  if (!match_->data || !match_->context || !match_->stack) {
    throw_exhausted("pre-tokenizer: out of memory");
  }
  // The limits are there for patterns from outside; ours need a number of steps proportional to the
  // text.
  pcre2_set_match_limit(match_->context.get(), UINT32_MAX);
  pcre2_set_depth_limit(match_->context.get(), UINT32_MAX);
  pcre2_set_heap_limit(match_->context.get(), UINT32_MAX);
  pcre2_jit_stack_assign(match_->context.get(), nullptr, match_->stack.get());
}

PreTokenizer::State::~State() = default;

struct PreTokenizer::Stage {
  SplitScanner scanner;  // null: the pattern
  std::unique_ptr<const Pattern> pattern;
};

PreTokenizer::PreTokenizer(std::span<const SplitRule> splits) {
  bool cuts_characters = false;
  for (const SplitRule rule : splits) {
    // Patterns and blanks need whole characters.
    if (cuts_characters && !reads_bytes(rule)) {
      throw_unsupported("pre-tokenizer: splits by characters behind one by bytes");
    }
    cuts_characters = cuts_characters || rule == SplitRule::kByteLevelDigits;
    const SplitScanner scanner = split_scanner(rule);
    // An empty pattern would match at the same place for ever.
    if (scanner == nullptr && split_pattern(rule).empty()) {
      throw_unsupported("pre-tokenizer: splits at blanks other than SentencePiece's");
    }
    stages_.push_back(
        {scanner, scanner ? nullptr : std::make_unique<const Pattern>(split_pattern(rule))});
  }
}

PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::split(std::string_view text, State& state,
                         const std::function<void(std::string_view)>& word) const {
  split_stage(0, text, *state.match_, word);
}

void PreTokenizer::split_stage(size_t stage, std::string_view text, State::Match& matcher,
                               const std::function<void(std::string_view)>& word) const {
  if (stage == stages_.size()) {
    word(text);
    return;
  }
  const Stage& rule = stages_[stage];
  size_t position = 0;
  while (position < text.size()) {
    const std::string_view match = rule.scanner != nullptr
                                       ? rule.scanner(text, position)
                                       : matcher.find(*rule.pattern, text, position);
    const auto begin = static_cast<size_t>(match.data() - text.data());
    if (begin > position) {
      split_stage(stage + 1, text.substr(position, begin - position), matcher, word);
    }
    if (!match.empty()) split_stage(stage + 1, match, matcher, word);
    position = begin + match.size();
  }
}

}  // namespace adze::text
