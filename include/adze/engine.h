// Requests in, tokens out.
#pragma once

#include <adze/model.h>
#include <adze/sampling.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adze {

enum class FinishReason {
  kStop,       // the model ended its answer, or a stop string came
  kLength,     // max_tokens or the context is used up
  kCancelled,  // by cancel() or by on_token
  kError,      // see Finish::error
};

// A token of an answer. Views and pointers end with the call that gets it.
struct Token {
  int32_t id = 0;
  // The text that it completed, whole characters only; may be empty: held back until a character
  // is complete, or because a stop string may begin with it.
  std::string_view text;
  const LogProbabilities* log_probabilities = nullptr;  // null where the request wants none
};

// The end of an answer. Views end with the call.
struct Finish {
  FinishReason reason = FinishReason::kStop;
  std::string_view text;   // what was held back and is no part of a stop string
  std::string_view error;  // one line, with kError
};

struct Request {
  std::vector<int32_t> tokens;  // the prompt: not empty, and shorter than the context
  int32_t max_tokens = 256;     // of the answer, at least 1
  SamplingParams sampling;
  std::vector<std::string> stop;  // the answer ends before one of these; none is empty
  bool ignore_end = false;        // go on where the model ends its answer
  // Tell log-probabilities of each token and of this many likeliest ones, 0 to
  // kMaxLogProbabilities.
  std::optional<int32_t> log_probabilities = std::nullopt;

  // Called from Engine::step(): any number of tokens, then one finish. They may submit and cancel
  // requests of their engine, but not step or destroy it. `false` from on_token cancels the
  // request; a std::exception that it throws ends the request with kError. What on_finish throws
  // comes out of step().
  std::function<bool(const Token& token)> on_token;
  std::function<void(const Finish& finish)> on_finish;
};

struct EngineOptions {
  int32_t cache_tokens = 0;  // room for all sequences together; 0: one of the full context
  // Speculative decoding: so many tokens are proposed at most in a step, and those that come true
  // cost less than a step each; 0: none. Answers stay bit for bit what they are.
  int32_t speculated_tokens = 0;
  // Proposes them; a smaller model with the same vocabulary, which this engine then has for itself.
  // Null: what followed the last tokens when they came before is proposed.
  Model* draft = nullptr;
};

// Runs the requests of one model together, in batches. An answer does not depend on what else runs
// with it, nor on the number of threads. Not thread-safe. Keeps the model's weights alive.
class Engine {
 public:
  // Throws Error{kInvalidInput} where another engine has a model or an option is out of range,
  // and Error{kResourceExhausted} where there is no memory for the cache.
  explicit Engine(Model& model, const EngineOptions& options = {});
  // Requests that have not finished are dropped: their functions are not called again.
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Queues a request. Throws Error{kInvalidInput} naming the field, and Error{kResourceExhausted}
  // for what can never fit the cache. The number names the request in this engine.
  uint64_t submit(Request request);
  // Finishes it with kCancelled in the next step. Unknown numbers are ignored: it may just have
  // finished.
  void cancel(uint64_t request);
  // Computes one batch: a token for every running answer, then pieces of prompts. False: there is
  // nothing left to do. Throws Error{kInvalidInput} when called from a request's function,
  // std::bad_alloc and what on_finish threw; nothing is lost then, and a further call goes on.
  bool step();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace adze
