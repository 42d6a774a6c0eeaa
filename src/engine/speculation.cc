#include "engine/speculation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "engine/cache_groups.h"

namespace adze::engine {
namespace {

constexpr int32_t kFirstLength = 3;
constexpr int32_t kLongestPause = 64;

// Looks for the longest end of the sequence that came before, the last time it did.
class LookupProposer : public Proposer {
 public:
  std::vector<int32_t> propose(const Speculated& sequence, int32_t most) override {
    const std::span<const int32_t> tokens = sequence.tokens;
    size_t longest = kShortest - 1;
    size_t follows = 0;  // the position after the longest
    for (size_t end = tokens.size() - 1; end >= kShortest && longest < kLongest; --end) {
      size_t length = 0;
      while (length < std::min(end, kLongest) &&
             tokens[end - 1 - length] == tokens[tokens.size() - 1 - length]) {
        ++length;
      }
      if (length <= longest) continue;
      longest = length;
      follows = end;
    }
    std::vector<int32_t> proposed;
    if (longest < kShortest) return proposed;
    for (size_t i = 0; i < static_cast<size_t>(most); ++i) {
      // Past the end a repetition goes on as it began.
      const size_t at = follows + i;
      proposed.push_back(at < tokens.size() ? tokens[at] : proposed[at - tokens.size()]);
    }
    return proposed;
  }
  void forget(uint64_t) override {}

 private:
  static constexpr size_t kShortest = 3;
  static constexpr size_t kLongest = 8;
};

// A smaller model with a cache of its own, one sequence after the other.
class DraftProposer : public Proposer {
 public:
  DraftProposer(LoadedModel& draft, int32_t cache_tokens, int32_t max_sequences)
      : draft_(draft),
        cache_(cache_groups(draft.plan(), cache_tokens, max_sequences), graph::kBlockTokens) {}

  std::vector<int32_t> propose(const Speculated& sequence, int32_t most) override {
    const auto room =
        draft_.plan().options().max_context - static_cast<int64_t>(sequence.tokens.size());
    most = static_cast<int32_t>(std::min<int64_t>(most, room));
    if (most < 1) return {};
    State* state = find(sequence);
    if (state == nullptr) return {};
    // What was rejected is computed anew; the last token has to be, for its row says what follows.
    const auto same = std::mismatch(state->tokens.begin(), state->tokens.end(),
                                    sequence.tokens.begin(), sequence.tokens.end());
    const auto kept = std::min<std::ptrdiff_t>(same.first - state->tokens.begin(),
                                               std::ssize(sequence.tokens) - 1);
    state->tokens.resize(static_cast<size_t>(kept));
    const auto rows = static_cast<size_t>(draft_.plan().options().max_rows);
    int32_t next = 0;
    while (state->tokens.size() < sequence.tokens.size()) {
      const auto rest = sequence.tokens.subspan(state->tokens.size());
      next = run(*state, rest.first(std::min(rest.size(), rows)));
      state->blocks.computed(state->tokens);
    }
    std::vector<int32_t> proposed = {next};
    while (proposed.size() < static_cast<size_t>(most)) {
      const int32_t last = proposed.back();
      proposed.push_back(run(*state, {&last, 1}));
    }
    return proposed;
  }

  void forget(uint64_t id) override { states_.erase(id); }

 private:
  struct State {
    explicit State(kvcache::Cache& cache) : blocks(cache) {}
    kvcache::SequenceBlocks blocks;
    std::vector<int32_t> tokens;  // whose keys and values are in the cache
  };

  // Null where the cache has no room for it now.
  State* find(const Speculated& sequence) {
    const auto [entry, is_new] = states_.try_emplace(sequence.id, cache_);
    if (!is_new) return &entry->second;
    const graph::PlanOptions& plan = draft_.plan().options();
    const int64_t most = std::min<int64_t>(sequence.most_tokens, plan.max_context);
    const std::optional<int32_t> reused =
        entry->second.blocks.admit(sequence.tokens, most, plan.max_rows, sequence.cache_salt);
    if (!reused) {
      states_.erase(entry);
      return nullptr;
    }
    const auto known = sequence.tokens.first(static_cast<size_t>(*reused));
    entry->second.tokens.assign(known.begin(), known.end());
    return &entry->second;
  }

  // Computes `rows`, which follow what is in the cache; the likeliest token after them.
  int32_t run(State& state, std::span<const int32_t> rows) {
    graph::BatchSequence entry;
    entry.rows = static_cast<int32_t>(rows.size());
    entry.first_position = static_cast<int32_t>(state.tokens.size());
    state.blocks.extend(entry.first_position + entry.rows);
    for (size_t group = 0; group < cache_.groups(); ++group) {
      entry.blocks.push_back(state.blocks.table(group));
    }
    const int32_t last = entry.rows - 1;
    draft_.plan().run({rows, {&entry, 1}, {&last, 1}});
    state.tokens.insert(state.tokens.end(), rows.begin(), rows.end());
    const std::span<const float> logits =
        draft_.plan().output().first(static_cast<size_t>(draft_.config().vocabulary));
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  LoadedModel& draft_;
  kvcache::Cache cache_;
  std::map<uint64_t, State> states_;
};

void check_draft(const LoadedModel* draft, const LoadedModel& model) {
  if (draft == nullptr) throw_invalid("draft: no model is given");
  if (draft == &model) throw_invalid("draft: the model itself; it needs one of its own");
  const std::string& path = draft->checkpoint().path;
  if (draft->config().vocabulary != model.config().vocabulary) {
    throw_invalid("draft: {} has a vocabulary of {} tokens, {} of {}", path,
                  draft->config().vocabulary, model.checkpoint().path, model.config().vocabulary);
  }
  for (int32_t token = 0; token < model.config().vocabulary; ++token) {
    if (draft->tokenizer().token_bytes(token) != model.tokenizer().token_bytes(token)) {
      throw_invalid("draft: {} has another vocabulary than {}: token {} differs", path,
                    model.checkpoint().path, token);
    }
  }
}

}  // namespace

std::unique_ptr<Proposer> make_proposer(const SpeculationOptions& options, const LoadedModel& model,
                                        int32_t cache_tokens, int32_t max_sequences) {
  if (options.kind == Speculation::kNone) return nullptr;
  if (options.most < 1) throw_invalid("speculated tokens: {} is below 1", options.most);
  if (options.kind == Speculation::kLookup) return std::make_unique<LookupProposer>();
  check_draft(options.draft, model);
  return std::make_unique<DraftProposer>(*options.draft, cache_tokens, max_sequences);
}

ProposalLength::ProposalLength(int32_t most) : most_(most), length_(std::min(most, kFirstLength)) {}

int32_t ProposalLength::next() {
  if (left_ == 0) return length_;
  --left_;
  return 0;
}

void ProposalLength::told(int32_t proposed, int32_t accepted) {
  if (accepted == 0) {
    length_ = std::min(most_, kFirstLength);
    pause_ = std::min(kLongestPause, 2 * pause_ + 1);
    left_ = pause_;
    return;
  }
  pause_ /= 4;
  if (accepted == proposed) {
    length_ = std::min(most_, std::max(length_, 2 * proposed));
  } else {
    length_ = std::min(most_, accepted + 1);
  }
}

}  // namespace adze::engine
