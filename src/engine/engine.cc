#include "engine/engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"

namespace adze::engine {
namespace {

int32_t blocks_for(int64_t tokens) {
  return static_cast<int32_t>((tokens + graph::kBlockTokens - 1) / graph::kBlockTokens);
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
    : model_(model), options_(options) {
  const graph::Plan& plan = model.plan();
  if (options.max_sequences < 1) {
    throw_invalid("max_sequences: {} is below 1", options.max_sequences);
  }
  if (options.cache_tokens < 0) throw_invalid("cache_tokens: {} is below 0", options.cache_tokens);
  const int32_t tokens =
      options.cache_tokens > 0 ? options.cache_tokens : plan.options().max_context;
  options_.max_sequences =
      std::min({options.max_sequences, plan.options().max_sampled, plan.options().max_rows});
  for (const graph::StateGroup& group : plan.graph().state_groups()) {
    pools_.emplace_back(group.block_bytes(), blocks_for(tokens));
  }
}

int32_t Engine::blocks_needed(const Request& request) const {
  const int64_t most = static_cast<int64_t>(request.tokens.size()) + request.max_tokens;
  return blocks_for(std::min<int64_t>(most, model_.plan().options().max_context));
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
  if (blocks_needed(request) > pools_.front().total()) {
    throw_exhausted("prompt and answer need {} cache blocks, there are {}", blocks_needed(request),
                    pools_.front().total());
  }
  text::StopMatcher stop(request.stop);
  auto sequence =
      std::make_unique<Sequence>(Sequence{next_id_++,
                                          std::move(request),
                                          std::move(listener),
                                          {},
                                          0,
                                          {},
                                          text::StreamingDetokenizer(model_.tokenizer(), true),
                                          std::move(stop),
                                          false,
                                          {},
                                          {}});
  sequence->tokens = sequence->request.tokens;
  sequence->blocks.resize(pools_.size());
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
  // Cancelled ones take no place and no blocks: finish_done() ends them.
  for (auto& sequence : waiting_) {
    if (sequence->cancelled) running_.push_back(std::move(sequence));
  }
  std::erase(waiting_, nullptr);
  while (!waiting_.empty() && running_.size() < static_cast<size_t>(options_.max_sequences)) {
    Sequence& next = *waiting_.front();
    // All that it can ever need is set aside, so that no running sequence is left without room.
    const int32_t needed = blocks_needed(next.request);
    if (needed > pools_.front().available()) return;
    for (size_t group = 0; group < pools_.size(); ++group) {
      for (int32_t i = 0; i < needed; ++i) next.blocks[group].push_back(pools_[group].allocate());
    }
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
    for (const auto& table : sequence->blocks) entry.blocks.emplace_back(table);
    const auto first = sequence->tokens.begin() + sequence->computed;
    tokens.insert(tokens.end(), first, first + rows);
    (sequence->generated() > 0 ? decode_rows_ : prompt_rows_) += rows;
    if (sequence->computed + rows == static_cast<int32_t>(sequence->tokens.size())) {
      sampled.push_back(static_cast<int32_t>(tokens.size()) - 1);
    }
  }
  model_.plan().run({tokens, sequences, sampled});
  for (const auto& [sequence, rows] : chunks) sequence->computed += rows;
  const auto vocabulary = static_cast<size_t>(model_.config().vocabulary);
  size_t row = 0;
  for (const auto& [sequence, rows] : chunks) {
    if (sequence->computed != static_cast<int32_t>(sequence->tokens.size())) continue;
    const auto logits = model_.plan().output().subspan(row++ * vocabulary, vocabulary);
    try {
      accept(*sequence, logits);
    } catch (const std::exception& error) {
      sequence->finished = FinishReason::kError;
      sequence->error = error.what();
    }
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
  if (sequence.stop.stopped()) {
    sequence.finished = FinishReason::kStop;
  } else if (sequence.generated() >= sequence.request.max_tokens ||
             sequence.tokens.size() >= static_cast<size_t>(model_.plan().options().max_context)) {
    sequence.finished = FinishReason::kLength;
  }
}

void Engine::finish_done() {
  // All state is in order before any listener hears of it: listeners may submit and cancel.
  std::vector<std::unique_ptr<Sequence>> done;
  for (auto& sequence : running_) {
    if (sequence->cancelled && !sequence->finished) sequence->finished = FinishReason::kCancelled;
    if (sequence->finished) done.push_back(std::move(sequence));
  }
  std::erase(running_, nullptr);
  for (const auto& sequence : done) {
    for (size_t group = 0; group < pools_.size(); ++group) {
      for (std::byte* block : sequence->blocks[group]) pools_[group].release(block);
    }
  }
  std::exception_ptr first_error;
  for (const auto& sequence : done) {
    try {
      std::string rest = sequence->stop.push(sequence->detokenizer.flush());
      rest += sequence->stop.flush();
      if (!sequence->listener.on_finish) continue;
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
