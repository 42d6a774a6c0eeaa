// Splitting text into the words within which byte-pair encoding merges.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer/pre_tokenizer_rules.h"

namespace adze::text {

// Immutable, hence safe to use from several threads.
class PreTokenizer {
 public:
  // The splits follow one another. Without any the whole text is one word. Throws
  // Error{kUnsupported} for kBlanksWithNext, and for what needs whole characters behind
  // kByteLevelDigits, which cuts them.
  explicit PreTokenizer(std::span<const SplitRule> splits);
  ~PreTokenizer();
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  // What one thread needs to match; costs a few system calls to make.
  class State {
   public:
    State();
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

   private:
    friend class PreTokenizer;
    struct Match;
    std::unique_ptr<Match> match_;
  };

  // Passes the words of `text`, in order and without gaps, to `word`. `text` must be valid UTF-8 of
  // at most 1 GiB. The views are into `text`.
  void split(std::string_view text, State& state,
             const std::function<void(std::string_view)>& word) const;

 private:
  class Pattern;
  struct Stage;
  void split_stage(size_t stage, std::string_view text, State::Match& matcher,
                   const std::function<void(std::string_view)>& word) const;

  std::vector<Stage> stages_;
};

}  // namespace adze::text
