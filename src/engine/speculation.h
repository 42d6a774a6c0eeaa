// Speculative decoding: what may follow a sequence is proposed cheaply, and the model computes all
// of it in one step, as rows of one batch. Each row's token is chosen as it always is, greedily or
// not; a proposal counts where it is that token, and what comes after the first that is not is
// dropped. Answers are therefore bit for bit what they are without.
//
// Sources: Leviathan, Kalman, Matias, Fast Inference from Transformers via Speculative Decoding,
// 2023 (a draft model); Saxena, Prompt Lookup Decoding, 2023.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/loaded_model.h"

namespace adze::engine {

enum class Speculation : uint8_t {
  kNone,
  kLookup,  // what followed the last few tokens when they came before
  kDraft,   // what a smaller model says
};

struct SpeculationOptions {
  Speculation kind = Speculation::kNone;
  int32_t most = 8;  // tokens proposed in one step, at least 1
  // With kDraft: of the same vocabulary; outlives the engine and is used by nobody else.
  LoadedModel* draft = nullptr;
};

// A sequence that wants proposals.
struct Speculated {
  uint64_t id = 0;
  std::span<const int32_t> tokens;  // the prompt and what was generated
  int64_t most_tokens = 0;          // that it can come to
  std::string_view cache_salt;
};

// Deterministic: what it proposes follows from the tokens alone. Not thread-safe.
class Proposer {
 public:
  virtual ~Proposer() = default;
  // At most `most` tokens that may follow.
  virtual std::vector<int32_t> propose(const Speculated& sequence, int32_t most) = 0;
  // The sequence has ended.
  virtual void forget(uint64_t id) = 0;
};

// Null for kNone. `cache_tokens` and `max_sequences` as the engine has them. Throws
// Error{kInvalidInput} where `most` is below 1, or the draft is missing or has another vocabulary.
std::unique_ptr<Proposer> make_proposer(const SpeculationOptions& options, const LoadedModel& model,
                                        int32_t cache_tokens, int32_t max_sequences);

// How many tokens to propose for one sequence: more while all are accepted, fewer and less often
// while none is, so that a text that cannot be foreseen costs next to nothing.
class ProposalLength {
 public:
  explicit ProposalLength(int32_t most);
  // For the next step; 0: none.
  int32_t next();
  // What became of a step's proposals; `proposed` is above 0.
  void told(int32_t proposed, int32_t accepted);

 private:
  int32_t most_;
  int32_t length_;
  int32_t pause_ = 0;  // steps without proposals after the last that were all rejected
  int32_t left_ = 0;   // of them
};

}  // namespace adze::engine
