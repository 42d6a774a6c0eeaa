#include <adze/model.h>
#include <adze/version.h>

#include <algorithm>
#include <utility>

#include "api/model_state.h"
#include "base/error.h"
#include "engine/chat.h"

namespace adze {
namespace {

void check_range(const char* option, int32_t value, int32_t least, int32_t most) {
  if (value >= least && value <= most) return;
  throw_invalid("{}: {} is not from {} to {}", option, value, least, most);
}

ops::CacheDType cache_dtype(CacheType type) {
  switch (type) {
    case CacheType::kBF16:
      return ops::CacheDType::kBF16;
    case CacheType::kInt8:
      return ops::CacheDType::kI8;
    case CacheType::kF32:
      return ops::CacheDType::kF32;
  }
  throw_invalid("cache_type: {} is no type", static_cast<int>(type));
}

engine::ModelOptions engine_options(const ModelOptions& options) {
  check_range("threads", options.threads, 0, 1024);
  check_range("context", options.context, 1, 1 << 24);
  check_range("max_rows", options.max_rows, 1, 1 << 16);
  check_range("max_sequences", options.max_sequences, 1, 1 << 16);
  engine::ModelOptions out;
  out.threads = options.threads;
  out.cache_dtype = cache_dtype(options.cache_type);
  out.plan.max_context = options.context;
  out.plan.max_rows = options.max_rows;
  out.plan.max_sampled = std::min(options.max_sequences, options.max_rows);
  return out;
}

}  // namespace

const char* version() { return ADZE_VERSION; }

Model::Model(const std::string& path, const ModelOptions& options)
    : state_(std::make_shared<internal::ModelState>(path, engine_options(options),
                                                    options.progress)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Tokenizer Model::tokenizer() const { return Tokenizer(state_); }

int32_t Model::context() const { return state_->loaded.plan().options().max_context; }

std::vector<int32_t> Model::chat_tokens(std::string_view system, std::string_view user) const {
  std::vector<engine::ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", std::string(system)});
  messages.push_back({"user", std::string(user)});
  return engine::chat_tokens(state_->loaded, messages);
}

Tokenizer::Tokenizer(std::shared_ptr<const internal::ModelState> state)
    : state_(std::move(state)) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  text::EncodeOptions options;
  options.parse_special = parse_special;
  return state_->loaded.tokenizer().encode(text, options);
}

std::string Tokenizer::decode(const std::vector<int32_t>& tokens) const {
  return state_->loaded.tokenizer().decode(tokens, true);
}

std::string_view Tokenizer::token_bytes(int32_t token) const {
  return state_->loaded.tokenizer().token_bytes(token);
}

int32_t Tokenizer::size() const { return state_->loaded.tokenizer().vocabulary().size(); }

}  // namespace adze
