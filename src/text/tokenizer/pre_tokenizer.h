// Splitting text into the words within which byte-pair encoding merges.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace adze::text {

struct PreTokenizerRules;

// Immutable, hence safe to use from several threads.
class PreTokenizer {
 public:
  // `name` as GGUF's tokenizer.ggml.pre spells it. Throws Error{kUnsupported} where it is unknown.
  explicit PreTokenizer(std::string_view name);
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

  // A word that is a token as it stands is taken as that token, whatever the merges say.
  bool ignores_merges() const;
  // Text is to be brought into Unicode's normalization form C first.
  bool normalizes_nfc() const;

 private:
  class Pattern;
  void split_stage(size_t stage, std::string_view text, State::Match& matcher,
                   const std::function<void(std::string_view)>& word) const;

  const PreTokenizerRules* rules_;
  std::vector<std::unique_ptr<Pattern>> stages_;
};

}  // namespace adze::text
