#include "engine/engine.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/error.h"

namespace adze::engine {
namespace {

constexpr const char* kOutOfMemory = "out of memory";  // short enough to need none

// Options with every bound applied that the plan sets.
EngineOptions checked(const EngineOptions& options, const graph::PlanOptions& plan) {
  if (options.max_sequences < 1) {
    throw_invalid("max_sequences: {} is below 1", options.max_sequences);
  }
  if (options.cache_tokens < 0) throw_invalid("cache_tokens: {} is below 0", options.cache_tokens);
  EngineOptions out = options;
  if (options.cache_tokens == 0) out.cache_tokens = plan.max_context;
  out.max_sequences = std::min({options.max_sequences, plan.max_sampled, plan.max_rows});
  return out;
}

std::vector<kvcache::GroupSpec> group_specs(const graph::Plan& plan, const EngineOptions& options) {
  const auto quota = [&](int32_t window, int32_t sinks) {
    return kvcache::sequence_quota(window, sinks, options.cache_tokens, plan.options().max_rows,
                                   graph::kBlockTokens);
  };
  std::vector<kvcache::GroupSpec> specs;
  for (const graph::StateGroup& group : plan.graph().state_groups()) {
    int32_t blocks = quota(0, 0);
    if (group.window > 0) {
      blocks = static_cast<int32_t>(std::min<int64_t>(
          blocks, int64_t{options.max_sequences} * quota(group.window, group.sinks)));
    }
    specs.push_back({group.block_bytes(), blocks, group.window, group.sinks});
  }
  return specs;
}

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "";
}

Engine::Engine(LoadedModel& model, const EngineOptions& options)
    : model_(model),
      options_(checked(options, model.plan().options())),
      cache_(group_specs(model.plan(), options_), graph::kBlockTokens) {}

int64_t Engine::most_tokens(const Request& request) const {
  const int64_t most = static_cast<int64_t>(request.tokens.size()) + request.max_tokens;
  return std::min<int64_t>(most, model_.plan().options().max_context);
}

RequestId Engine::submit(Request request, Listener listener) {
  const int32_t context = model_.plan().options().max_context;
  validate(request.sampling);
  validate_tokens(request.sampling, model_.config().vocabulary);
  const int32_t wanted = request.log_probabilities.value_or(0);
  if (wanted < 0 || wanted > kMaxLogProbabilities) {
    throw_invalid("logprobs: {} is not from 0 to {}", wanted, kMaxLogProbabilities);
  }
  if (request.max_tokens < 1) throw_invalid("max_tokens: {} is below 1", request.max_tokens);
  if (request.tokens.empty()) throw_invalid("prompt: no tokens");
  if (request.tokens.size() >= static_cast<size_t>(context)) {
    throw_invalid("prompt: {} tokens; the context holds {} with the answer", request.tokens.size(),
                  context);
  }
  for (const int32_t token : request.tokens) {
    if (token < 0 || token >= model_.config().vocabulary) {
      throw_invalid("prompt: token id {} is not from 0 to {}", token,
                    model_.config().vocabulary - 1);
    }
  }
  for (size_t group = 0; group < cache_.groups(); ++group) {
    const int32_t needed =
        cache_.quota(group, most_tokens(request), model_.plan().options().max_rows);
    if (needed > cache_.total(group)) {
      throw_exhausted("prompt and answer need {} cache blocks, there are {}", needed,
                      cache_.total(group));
    }
  }
  text::StopMatcher stop(request.stop);
  std::vector<int32_t> tokens = request.tokens;
  std::unique_ptr<Sequence> sequence(
      new Sequence{.id = next_id_++,
                   .request = std::move(request),
                   .listener = std::move(listener),
                   .tokens = std::move(tokens),
                   .blocks = kvcache::SequenceBlocks(cache_),
                   .detokenizer = text::StreamingDetokenizer(model_.tokenizer(), true),
                   .stop = std::move(stop),
                   .finished = {},
                   .error = {}});
  waiting_.push_back(std::move(sequence));
  return waiting_.back()->id;
}

void Engine::cancel(RequestId id) {
  for (const auto& sequence : running_) {
    if (sequence->id == id) sequence->cancelled = true;
  }
  for (const auto& sequence : waiting_) {
    if (sequence->id == id) sequence->cancelled = true;
  }
}

void Engine::admit() {
  running_.reserve(running_.size() + waiting_.size());  // what has its blocks gets its place
  // Cancelled ones take no place and no blocks: finish_done() ends them.
  for (auto& sequence : waiting_) {
    if (sequence->cancelled) running_.push_back(std::move(sequence));
  }
  std::erase(waiting_, nullptr);
  while (!waiting_.empty() && running_.size() < static_cast<size_t>(options_.max_sequences)) {
    Sequence& next = *waiting_.front();
    // All that it can ever need is set aside, so that no running sequence is left without room.
    const std::optional<int32_t> reused =
        next.blocks.admit(next.tokens, most_tokens(next.request), model_.plan().options().max_rows,
                          next.request.cache_salt);
    if (!reused) return;
    next.computed = *reused;
    reused_tokens_ += *reused;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

std::vector<Engine::Chunk> Engine::schedule() {
  int32_t budget = model_.plan().options().max_rows;
  std::vector<Chunk> chunks;
  const auto add = [&](bool decode) {
    for (const auto& sequence : running_) {
      const auto left = static_cast<int32_t>(sequence->tokens.size()) - sequence->computed;
      if (sequence->finished || budget == 0 || (sequence->generated() > 0) != decode) continue;
      const int32_t rows = std::min(left, budget);
      chunks.push_back({sequence.get(), rows});
      budget -= rows;
    }
  };
  add(true);
  add(false);
  return chunks;
}

void Engine::run(const std::vector<Chunk>& chunks) {
  std::vector<int32_t> tokens;
  std::vector<int32_t> sampled;
  std::vector<graph::BatchSequence> sequences;
  for (const auto& [sequence, rows] : chunks) {
    graph::BatchSequence& entry = sequences.emplace_back();
    entry.first_row = static_cast<int32_t>(tokens.size());
    entry.rows = rows;
    entry.first_position = sequence->computed;
    sequence->blocks.extend(sequence->computed + rows);
    for (size_t group = 0; group < cache_.groups(); ++group) {
      entry.blocks.push_back(sequence->blocks.table(group));
    }
    const auto first = sequence->tokens.begin() + sequence->computed;
    tokens.insert(tokens.end(), first, first + rows);
    if (sequence->computed + rows == static_cast<int32_t>(sequence->tokens.size())) {
      sampled.push_back(static_cast<int32_t>(tokens.size()) - 1);
    }
  }
  model_.plan().run({tokens, sequences, sampled});
  for (const auto& [sequence, rows] : chunks) {
    (sequence->generated() > 0 ? decode_rows_ : prompt_rows_) += rows;
    sequence->computed += rows;
    const auto written = static_cast<size_t>(sequence->computed);
    sequence->blocks.computed(std::span(sequence->tokens).first(written));
  }
  const auto vocabulary = static_cast<size_t>(model_.config().vocabulary);
  size_t row = 0;
  for (const auto& [sequence, rows] : chunks) {
    if (sequence->computed != static_cast<int32_t>(sequence->tokens.size())) continue;
    const auto logits = model_.plan().output().subspan(row++ * vocabulary, vocabulary);
    try {
      accept(*sequence, logits);
    } catch (const std::bad_alloc&) {
      sequence->fail(kOutOfMemory);
    } catch (const std::exception& error) {
      sequence->fail(error.what());
    } catch (...) {
      sequence->fail("the listener threw what is no exception");
    }
  }
}

void Engine::Sequence::fail(const char* message) noexcept {
  finished = FinishReason::kError;
  try {
    error = message;
  } catch (const std::bad_alloc&) {
    error = kOutOfMemory;
  }
}

void Engine::accept(Sequence& sequence, std::span<const float> logits) {
  const int32_t token = sampler_.sample(logits, sequence.request.sampling,
                                        {sequence.tokens, sequence.request.tokens.size()});
  sequence.tokens.push_back(token);
  if (!sequence.request.ignore_end && model_.tokenizer().vocabulary().ends_generation(token)) {
    sequence.finished = FinishReason::kStop;
    return;
  }
  const std::string text = sequence.stop.push(sequence.detokenizer.push(token));
  if (sequence.listener.on_token) {
    std::optional<LogProbabilities> likely;
    if (const std::optional<int32_t> count = sequence.request.log_probabilities) {
      likely = sampler_.log_probabilities(logits, token, *count);
    }
    sequence.listener.on_token({token, text, likely ? &*likely : nullptr});
  }
  if (sequence.cancelled) {
    sequence.finished = FinishReason::kCancelled;
  } else if (sequence.stop.stopped()) {
    sequence.finished = FinishReason::kStop;
  } else if (sequence.generated() >= sequence.request.max_tokens ||
             sequence.tokens.size() >= static_cast<size_t>(model_.plan().options().max_context)) {
    sequence.finished = FinishReason::kLength;
  }
}

void Engine::finish_done() {
  // All state is in order before any listener hears of it: listeners may submit and cancel.
  std::vector<std::unique_ptr<Sequence>> done;
  done.reserve(running_.size());
  for (auto& sequence : running_) {
    if (sequence->cancelled && !sequence->finished) sequence->finished = FinishReason::kCancelled;
    if (sequence->finished) done.push_back(std::move(sequence));
  }
  std::erase(running_, nullptr);
  for (const auto& sequence : done) sequence->blocks.clear();
  std::exception_ptr first_error;
  for (const auto& sequence : done) {
    std::string rest;
    try {
      rest = sequence->stop.push(sequence->detokenizer.flush());
      rest += sequence->stop.flush();
    } catch (const std::bad_alloc&) {
      rest.clear();
      sequence->fail(kOutOfMemory);
    }
    if (!sequence->listener.on_finish) continue;
    try {
      sequence->listener.on_finish(*sequence->finished, rest, sequence->error);
    } catch (...) {
      if (!first_error) first_error = std::current_exception();
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

bool Engine::step() {
  admit();
  finish_done();  // cancelled ones give their blocks back before anything runs
  const std::vector<Chunk> chunks = schedule();
  if (chunks.empty()) return !waiting_.empty();
  run(chunks);
  finish_done();
  return !running_.empty() || !waiting_.empty();
}

}  // namespace adze::engine
