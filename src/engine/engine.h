// Requests in, tokens out: continuous batching over one plan and one cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/sampler.h"
#include "engine/speculation.h"
#include "kvcache/cache.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/stop_matcher.h"

namespace adze::engine {

enum class FinishReason : uint8_t { kStop, kLength, kCancelled, kError };
std::string_view finish_reason_name(FinishReason reason);

struct Request {
  std::vector<int32_t> tokens;  // the prompt
  int32_t max_tokens = 256;
  SamplingParams sampling;
  std::vector<std::string> stop;
  bool ignore_end = false;  // go on after an end-of-text token
  // What was computed for others is used again only where their salt is the same.
  std::string cache_salt = {};
  // Tell the log-probabilities of each token and of this many likeliest ones, 0 to
  // kMaxLogProbabilities.
  std::optional<int32_t> log_probabilities = std::nullopt;
};

// What a listener learns of a token. Views and pointers end with the call.
struct TokenInfo {
  int32_t token = 0;
  // The text that it completed; may be empty: held back for a character or a stop string.
  std::string_view text;
  const LogProbabilities* log_probabilities = nullptr;  // null where the request wants none
};

// What a request's owner is told, in this order: any number of tokens, then one finish. Called from
// step(); they may call submit() and cancel(). What on_token throws ends its request with kError;
// what on_finish throws comes out of step() once every other listener has been told.
struct Listener {
  std::function<void(const TokenInfo& token)> on_token;
  // The rest of the text; `error` where the reason is kError.
  std::function<void(FinishReason reason, std::string_view text, std::string_view error)> on_finish;
};

struct EngineOptions {
  // Room in the cache; 0: one sequence of the plan's full context. Groups with a window have room
  // for what max_sequences can see, if that is less.
  int32_t cache_tokens = 0;
  int32_t max_sequences = 16;  // running at once
  // Proposals take rows and sampled rows that the plan has beside those of a step without them.
  SpeculationOptions speculation = {};
};

using RequestId = uint64_t;

// Not thread-safe. The model outlives it and is used by nobody else.
class Engine {
 public:
  // Throws Error{kInvalidInput} for options below their least value, and as make_proposer() does.
  // At most as many sequences run at once as the plan has rows, and sampled rows.
  Engine(LoadedModel& model, const EngineOptions& options);

  // Throws Error{kInvalidInput} naming the field, and Error{kResourceExhausted} for a request that
  // can never fit.
  RequestId submit(Request request, Listener listener);
  // Finishes it with kCancelled before the next step. Unknown ids are ignored: it may just have
  // finished.
  void cancel(RequestId id);
  // Runs one batch: a token for every running sequence first, then prompt chunks up to the plan's
  // rows. False: there was nothing to do.
  bool step();

  const kvcache::Cache& cache() const { return cache_; }
  // Tokens of prompts so far that needed no computing: their beginning was in the cache.
  int64_t reused_tokens() const { return reused_tokens_; }
  // Tokens that were proposed so far, and those of them that came true.
  int64_t proposed_tokens() const { return proposed_tokens_; }
  int64_t accepted_tokens() const { return accepted_tokens_; }
  // Rows of prompts and of decodes that ran so far, rows of rejected tokens included.
  int64_t prompt_rows() const { return prompt_rows_; }
  int64_t decode_rows() const { return decode_rows_; }

 private:
  struct Sequence {
    RequestId id = 0;
    Request request;
    Listener listener;
    std::vector<int32_t> tokens;  // the prompt and what was generated
    int32_t computed = 0;         // tokens whose keys and values are in the cache
    kvcache::SequenceBlocks blocks;
    text::StreamingDetokenizer detokenizer;
    text::StopMatcher stop;
    ProposalLength proposal_length;
    bool cancelled = false;
    std::optional<FinishReason> finished;
    std::string error;

    int32_t generated() const {
      return static_cast<int32_t>(tokens.size() - request.tokens.size());
    }
    int32_t left() const { return static_cast<int32_t>(tokens.size()) - computed; }
    void fail(const char* message) noexcept;
  };
  // Rows of one sequence in the next batch.
  struct Chunk {
    Sequence* sequence;
    int32_t rows;                             // of its own tokens
    std::vector<int32_t> proposed;            // rows after those
    bool sampled = rows == sequence->left();  // the last own row and all that are proposed
  };

  // Tokens that prompt and answer can come to.
  int64_t most_tokens(const Request& request) const;
  void admit();
  std::vector<Chunk> schedule();
  void propose(std::vector<Chunk>& chunks);
  void run(const std::vector<Chunk>& chunks);
  // What the rows of a chunk say, one after another while proposals come true. Does not throw.
  void accept_rows(const Chunk& chunk, std::span<const float> logits) noexcept;
  void accept(Sequence& sequence, std::span<const float> logits);
  void finish_done();

  LoadedModel& model_;
  EngineOptions options_;
  kvcache::Cache cache_;
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;
  RequestId next_id_ = 1;
  std::unique_ptr<Proposer> proposer_;
  int64_t reused_tokens_ = 0;
  int64_t proposed_tokens_ = 0;
  int64_t accepted_tokens_ = 0;
  int64_t prompt_rows_ = 0;
  int64_t decode_rows_ = 0;
  Sampler sampler_;
};

}  // namespace adze::engine
