#include "engine/engine.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/error.h"
#include "engine/cache_groups.h"

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
      cache_(cache_groups(model.plan(), options_.cache_tokens, options_.max_sequences),
             graph::kBlockTokens),
      proposer_(make_proposer(options_.speculation, model, options_.cache_tokens,
                              options_.max_sequences)) {}

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
                   .proposal_length = ProposalLength(options_.speculation.most),
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
      if (sequence->finished || budget == 0 || (sequence->generated() > 0) != decode) continue;
      const int32_t rows = std::min(sequence->left(), budget);
      chunks.push_back({sequence.get(), rows, {}});
      budget -= rows;
    }
  };
  add(true);
  add(false);
  if (proposer_) propose(chunks);
  return chunks;
}

// Only rows that nobody else wants are given to proposals: as many to each sequence.
void Engine::propose(std::vector<Chunk>& chunks) {
  const graph::PlanOptions& plan = model_.plan().options();
  int32_t rows = plan.max_rows;
  int32_t sampled = plan.max_sampled;
  int32_t decodes = 0;
  for (const Chunk& chunk : chunks) {
    rows -= chunk.rows;
    if (chunk.sampled) --sampled;
    if (chunk.sequence->generated() > 0) ++decodes;
  }
  for (Chunk& chunk : chunks) {
    Sequence& sequence = *chunk.sequence;
    if (sequence.generated() == 0) continue;
    // One token follows all that are accepted.
    const int64_t most_tokens = this->most_tokens(sequence.request);
    const int64_t end = most_tokens - static_cast<int64_t>(sequence.tokens.size()) - 1;
    const auto most = static_cast<int32_t>(std::min<int64_t>(
        {rows / decodes, sampled / decodes, sequence.proposal_length.next(), end}));
    --decodes;
    if (most < 1) continue;
    try {
      chunk.proposed = proposer_->propose(
          {sequence.id, sequence.tokens, most_tokens, sequence.request.cache_salt}, most);
    } catch (const std::bad_alloc&) {
      chunk.proposed.clear();  // the sequence goes on without
    }
    rows -= static_cast<int32_t>(chunk.proposed.size());
    sampled -= static_cast<int32_t>(chunk.proposed.size());
  }
}

void Engine::run(const std::vector<Chunk>& chunks) {
  std::vector<int32_t> tokens;
  std::vector<int32_t> sampled;
  std::vector<graph::BatchSequence> sequences;
  for (const Chunk& chunk : chunks) {
    Sequence& sequence = *chunk.sequence;
    graph::BatchSequence& entry = sequences.emplace_back();
    entry.first_row = static_cast<int32_t>(tokens.size());
    entry.rows = chunk.rows + static_cast<int32_t>(chunk.proposed.size());
    entry.first_position = sequence.computed;
    sequence.blocks.extend(entry.first_position + entry.rows);
    for (size_t group = 0; group < cache_.groups(); ++group) {
      entry.blocks.push_back(sequence.blocks.table(group));
    }
    const auto first = sequence.tokens.begin() + sequence.computed;
    tokens.insert(tokens.end(), first, first + chunk.rows);
    tokens.insert(tokens.end(), chunk.proposed.begin(), chunk.proposed.end());
    if (!chunk.sampled) continue;
    for (int32_t row = chunk.rows - 1; row < entry.rows; ++row) {
      sampled.push_back(entry.first_row + row);
    }
  }
  model_.plan().run({tokens, sequences, sampled});
  try {
    model_.checkpoint().weights->check();
  } catch (const Error& error) {
    for (const Chunk& chunk : chunks) chunk.sequence->fail(error.what());
    return;
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    Sequence& sequence = *chunks[i].sequence;
    (sequence.generated() > 0 ? decode_rows_ : prompt_rows_) += sequences[i].rows;
    sequence.computed += chunks[i].rows;
    sequence.blocks.computed(
        std::span(sequence.tokens).first(static_cast<size_t>(sequence.computed)));
  }
  std::span<const float> logits = model_.plan().output();
  for (const Chunk& chunk : chunks) {
    if (!chunk.sampled) continue;
    accept_rows(chunk, logits);
    logits = logits.subspan((chunk.proposed.size() + 1) *
                            static_cast<size_t>(model_.config().vocabulary));
  }
}

void Engine::accept_rows(const Chunk& chunk, std::span<const float> logits) noexcept {
  const auto vocabulary = static_cast<size_t>(model_.config().vocabulary);
  Sequence& sequence = *chunk.sequence;
  size_t accepted = 0;
  try {
    while (true) {
      accept(sequence, logits.subspan(accepted * vocabulary, vocabulary));
      if (sequence.finished || accepted == chunk.proposed.size() ||
          sequence.tokens.back() != chunk.proposed[accepted]) {
        break;
      }
      ++accepted;
      ++sequence.computed;
    }
    if (accepted > 0) {
      sequence.blocks.computed(
          std::span(sequence.tokens).first(static_cast<size_t>(sequence.computed)));
    }
  } catch (const std::bad_alloc&) {
    sequence.fail(kOutOfMemory);
  } catch (const std::exception& error) {
    sequence.fail(error.what());
  } catch (...) {
    sequence.fail("the listener threw what is no exception");
  }
  if (chunk.proposed.empty()) return;
  sequence.proposal_length.told(static_cast<int32_t>(chunk.proposed.size()),
                                static_cast<int32_t>(accepted));
  proposed_tokens_ += std::ssize(chunk.proposed);
  accepted_tokens_ += static_cast<int64_t>(accepted);
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
  for (const auto& sequence : done) {
    sequence->blocks.clear();
    if (proposer_) proposer_->forget(sequence->id);
  }
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
