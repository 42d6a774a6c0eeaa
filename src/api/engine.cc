#include "engine/engine.h"

#include <adze/engine.h>

#include <optional>
#include <utility>

#include "api/model_state.h"
#include "base/error.h"

namespace adze {
namespace {

FinishReason finish_reason(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return FinishReason::kStop;
    case engine::FinishReason::kLength:
      return FinishReason::kLength;
    case engine::FinishReason::kCancelled:
      return FinishReason::kCancelled;
    case engine::FinishReason::kError:
      return FinishReason::kError;
  }
  throw_internal("a request finished for no known reason");
}

// A model has one engine at a time.
class Claim {
 public:
  explicit Claim(std::shared_ptr<internal::ModelState> state) : state_(std::move(state)) {
    if (std::exchange(state_->has_engine, true)) throw_invalid("model: another engine has it");
  }
  ~Claim() { state_->has_engine = false; }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  engine::LoadedModel& model() { return state_->loaded; }

 private:
  std::shared_ptr<internal::ModelState> state_;
};

}  // namespace

struct Engine::Impl {
  // `draft` may be null.
  Impl(std::shared_ptr<internal::ModelState> state, std::shared_ptr<internal::ModelState> draft,
       const EngineOptions& options)
      : claim(std::move(state)) {
    if (draft) draft_claim.emplace(std::move(draft));
    engine::EngineOptions inner;
    inner.cache_tokens = options.cache_tokens;
    inner.max_sequences = claim.model().plan().options().max_sampled;
    if (options.speculated_tokens < 0) {
      throw_invalid("speculated_tokens: {} is below 0", options.speculated_tokens);
    }
    if (options.speculated_tokens == 0 && draft_claim) {
      throw_invalid("speculated_tokens: 0 leaves the draft nothing to propose");
    }
    if (options.speculated_tokens > 0) {
      inner.speculation = {draft_claim ? engine::Speculation::kDraft : engine::Speculation::kLookup,
                           options.speculated_tokens,
                           draft_claim ? &draft_claim->model() : nullptr};
    }
    engine.emplace(claim.model(), inner);
  }

  Claim claim;
  std::optional<Claim> draft_claim;
  std::optional<engine::Engine> engine;  // made once all that it needs is there
  bool stepping = false;
};

Engine::Engine(Model& model, const EngineOptions& options)
    : impl_(std::make_unique<Impl>(
          model.state_, options.draft != nullptr ? options.draft->state_ : nullptr, options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

uint64_t Engine::submit(Request request) {
  engine::Request inner;
  inner.tokens = std::move(request.tokens);
  inner.max_tokens = request.max_tokens;
  inner.sampling = std::move(request.sampling);
  inner.stop = std::move(request.stop);
  inner.ignore_end = request.ignore_end;
  inner.log_probabilities = request.log_probabilities;
  engine::Listener listener;
  const auto id = std::make_shared<uint64_t>(0);  // known once submitted, before any token
  if (request.on_token) {
    listener.on_token = [on_token = std::move(request.on_token), &engine = *impl_->engine,
                         id](const engine::TokenInfo& token) {
      if (!on_token({token.token, token.text, token.log_probabilities})) engine.cancel(*id);
    };
  }
  if (request.on_finish) {
    listener.on_finish = [on_finish = std::move(request.on_finish)](engine::FinishReason reason,
                                                                    std::string_view text,
                                                                    std::string_view error) {
      on_finish({finish_reason(reason), text, error});
    };
  }
  *id = impl_->engine->submit(std::move(inner), std::move(listener));
  return *id;
}

void Engine::cancel(uint64_t request) { impl_->engine->cancel(request); }

bool Engine::step() {
  struct Stepping {
    bool& flag;
    ~Stepping() { flag = false; }
  };
  if (impl_->stepping) throw_invalid("step: called from a request's function");
  impl_->stepping = true;
  const Stepping stepping{impl_->stepping};
  return impl_->engine->step();
}

}  // namespace adze
