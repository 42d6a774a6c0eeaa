// The C interface, over the C++ one.
#include <adze/adze.h>
#include <adze/engine.h>
#include <adze/error.h>
#include <adze/model.h>
#include <adze/version.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

struct adze_model {
  adze::Model model;
  adze::Tokenizer tokenizer = model.tokenizer();
};

struct adze_engine {
  adze::Engine engine;
};

namespace {

using adze::throw_invalid;

// Cut at a whole character; no allocation, since memory may be what is missing.
void set_message(adze_error* error, std::string_view text) noexcept {
  if (error == nullptr) return;
  size_t bytes = std::min(text.size(), sizeof error->message - 1);
  if (bytes < text.size()) {
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  }
  std::memcpy(error->message, text.data(), bytes);
  error->message[bytes] = '\0';
}

adze_status status_of(adze::ErrorKind kind) noexcept {
  switch (kind) {
    case adze::ErrorKind::kInvalidInput:
      return ADZE_INVALID_INPUT;
    case adze::ErrorKind::kUnsupported:
      return ADZE_UNSUPPORTED;
    case adze::ErrorKind::kResourceExhausted:
      return ADZE_RESOURCE_EXHAUSTED;
    case adze::ErrorKind::kUnavailable:
      return ADZE_UNAVAILABLE;
    case adze::ErrorKind::kInternal:
      return ADZE_INTERNAL;
  }
  return ADZE_INTERNAL;
}

// Runs `call`, which returns a status; exceptions become statuses and messages.
template <class Call>
adze_status guarded(adze_error* error, Call call) noexcept {
  set_message(error, "");
  try {
    return call();
  } catch (const adze::Error& failure) {
    set_message(error, failure.what());
    return status_of(failure.kind());
  } catch (const std::bad_alloc&) {
    set_message(error, "out of memory");
    return ADZE_RESOURCE_EXHAUSTED;
  } catch (const std::system_error& failure) {
    set_message(error, failure.what());
    return ADZE_UNAVAILABLE;
  } catch (const std::exception& failure) {
    set_message(error, failure.what());
    return ADZE_INTERNAL;
  } catch (...) {
    set_message(error, "an exception of no known type");
    return ADZE_INTERNAL;
  }
}

template <class T>
T& needed(T* argument, const char* name) {
  if (argument == nullptr) throw_invalid("{}: NULL", name);
  return *argument;
}

// An array that may be NULL where it has no elements.
void check_array(const void* array, size_t count, const char* name) {
  if (array == nullptr && count > 0) throw_invalid("{}: NULL with {} elements", name, count);
}

// Writes as much of `defaults` as a caller's struct of `size` bytes has room for.
template <class T>
adze_status init(T* out, size_t size, T defaults, size_t least, const char* name) {
  needed(out, name);
  if (size < least) throw_invalid("{}: a size of {}; at least {}", name, size, least);
  std::memset(static_cast<void*>(out), 0, size);
  defaults.size = size;
  std::memcpy(static_cast<void*>(out), &defaults, std::min(size, sizeof(T)));
  return ADZE_OK;
}

// A caller's struct of any version; what an older one lacks comes from `defaults`.
template <class T>
T read(const T* given, T defaults, size_t least, const char* name) {
  if (needed(given, name).size < least) {
    throw_invalid("{}: a size of {}; at least {}: was it initialized?", name, given->size, least);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < given->size; ++i) {
    if (bytes[i] != 0) {
      adze::throw_unsupported("{}: a field at byte {} is set, of a newer version than {}", name, i,
                              adze::version());
    }
  }
  std::memcpy(static_cast<void*>(&defaults), given, std::min(given->size, sizeof(T)));
  // So that it can mean something one day.
  if constexpr (requires { defaults.reserved; }) {
    if (defaults.reserved != 0) throw_invalid("{}: reserved is {}, not 0", name, defaults.reserved);
  }
  return defaults;
}

// Sizes of the first published versions. They never change.
constexpr size_t kModelOptionsSize = 32;
constexpr size_t kEngineOptionsSize = 16;
constexpr size_t kRequestSize = 176;
static_assert(sizeof(adze_model_options) == kModelOptionsSize);
static_assert(sizeof(adze_engine_options) == kEngineOptionsSize + sizeof(void*));
static_assert(sizeof(adze_request) == kRequestSize);
static_assert(sizeof(adze_token) == 56 && sizeof(adze_finish) == 40);
static_assert(sizeof(adze_log_probability) == 16 && sizeof(adze_logit_bias) == 16);

adze_model_options default_model_options() {
  const adze::ModelOptions defaults;
  adze_model_options out = {};
  out.threads = defaults.threads;
  out.context = defaults.context;
  out.max_rows = defaults.max_rows;
  out.max_sequences = defaults.max_sequences;
  out.cache_type = static_cast<int32_t>(defaults.cache_type);
  return out;
}

adze_engine_options default_engine_options() {
  adze_engine_options out = {};
  out.cache_tokens = adze::EngineOptions().cache_tokens;
  return out;
}

adze_request default_request() {
  const adze::Request request;
  const adze::SamplingParams& sampling = request.sampling;
  adze_request out = {};
  out.seed = sampling.seed;
  out.repetition_penalty = sampling.repetition_penalty;
  out.frequency_penalty = sampling.frequency_penalty;
  out.presence_penalty = sampling.presence_penalty;
  out.temperature = sampling.temperature;
  out.top_n_sigma = sampling.top_n_sigma;
  out.top_p = sampling.top_p;
  out.min_p = sampling.min_p;
  out.typical_p = sampling.typical_p;
  out.top_k = sampling.top_k;
  out.penalty_window = sampling.penalty_window;
  out.max_tokens = request.max_tokens;
  out.log_probabilities = -1;
  return out;
}

adze::SamplingParams sampling_of(const adze_request& given) {
  adze::SamplingParams out;
  check_array(given.logit_bias, given.logit_bias_count, "logit_bias");
  if (given.logit_bias_count > adze::kMaxLogitBiases) {
    throw_invalid("logit_bias: {} tokens; there may be {}", given.logit_bias_count,
                  adze::kMaxLogitBiases);
  }
  for (size_t i = 0; i < given.logit_bias_count; ++i) {
    out.logit_bias.push_back({given.logit_bias[i].token, given.logit_bias[i].bias});
  }
  out.seed = given.seed;
  out.repetition_penalty = given.repetition_penalty;
  out.frequency_penalty = given.frequency_penalty;
  out.presence_penalty = given.presence_penalty;
  out.temperature = given.temperature;
  out.top_n_sigma = given.top_n_sigma;
  out.top_p = given.top_p;
  out.min_p = given.min_p;
  out.typical_p = given.typical_p;
  out.top_k = given.top_k;
  out.penalty_window = given.penalty_window;
  return out;
}

bool tell_token(const adze_request& request, const adze::Token& token) {
  std::vector<adze_log_probability> likeliest;
  adze_token told = {};
  told.size = sizeof told;
  told.id = token.id;
  told.text = token.text.data();
  told.text_bytes = token.text.size();
  if (token.log_probabilities != nullptr) {
    told.has_log_probability = 1;
    told.log_probability = token.log_probabilities->chosen;
    for (const auto& [id, value] : token.log_probabilities->likeliest) {
      likeliest.push_back({id, 0, value});
    }
    told.likeliest = likeliest.data();
    told.likeliest_count = likeliest.size();
  }
  return request.on_token(request.user, &told) == 0;
}

void tell_finish(const adze_request& request, const adze::Finish& finish) {
  const std::string error(finish.error);
  adze_finish told = {};
  told.size = sizeof told;
  told.reason = static_cast<int32_t>(finish.reason);
  told.text = finish.text.data();
  told.text_bytes = finish.text.size();
  told.error = error.c_str();
  request.on_finish(request.user, &told);
}
static_assert(static_cast<int>(adze::FinishReason::kStop) == ADZE_FINISH_STOP);
static_assert(static_cast<int>(adze::FinishReason::kLength) == ADZE_FINISH_LENGTH);
static_assert(static_cast<int>(adze::FinishReason::kCancelled) == ADZE_FINISH_CANCELLED);
static_assert(static_cast<int>(adze::FinishReason::kError) == ADZE_FINISH_ERROR);

adze::Request request_of(const adze_request& given) {
  check_array(given.tokens, given.token_count, "tokens");
  check_array(static_cast<const void*>(given.stop), given.stop_count, "stop");
  adze::Request out;
  out.tokens.assign(given.tokens, given.tokens + given.token_count);
  out.sampling = sampling_of(given);
  for (size_t i = 0; i < given.stop_count; ++i)
    out.stop.emplace_back(&needed(given.stop[i], "stop"));
  out.max_tokens = given.max_tokens;
  out.ignore_end = given.ignore_end != 0;
  if (given.log_probabilities != -1) out.log_probabilities = given.log_probabilities;
  if (given.on_token != nullptr) {
    out.on_token = [given](const adze::Token& token) { return tell_token(given, token); };
  }
  if (given.on_finish != nullptr) {
    out.on_finish = [given](const adze::Finish& finish) { tell_finish(given, finish); };
  }
  return out;
}

// Into a caller's buffer, or not at all.
template <class T>
adze_status copy_out(const T* from, size_t count, T* to, size_t capacity, size_t* needed_count,
                     adze_error* error) {
  needed(needed_count, "count") = count;
  check_array(to, capacity, "buffer");
  if (count > capacity) {
    set_message(error, "the buffer is too small");
    return ADZE_BUFFER_TOO_SMALL;
  }
  std::copy_n(from, count, to);
  return ADZE_OK;
}

}  // namespace

extern "C" {

const char* adze_version(void) { return adze::version(); }

adze_status adze_model_options_init(adze_model_options* options, size_t size, adze_error* error) {
  return guarded(error, [&] {
    return init(options, size, default_model_options(), kModelOptionsSize, "options");
  });
}

adze_status adze_model_open(const char* path, const adze_model_options* options, adze_model** model,
                            adze_error* error) {
  return guarded(error, [&] {
    needed(model, "model") = nullptr;
    needed(path, "path");
    adze_model_options given = default_model_options();
    if (options != nullptr) given = read(options, given, kModelOptionsSize, "options");
    adze::ModelOptions out;
    out.threads = given.threads;
    out.context = given.context;
    out.max_rows = given.max_rows;
    out.max_sequences = given.max_sequences;
    out.cache_type = static_cast<adze::CacheType>(given.cache_type);
    *model = new adze_model{adze::Model(path, out)};
    return ADZE_OK;
  });
}

void adze_model_close(adze_model* model) { delete model; }

int32_t adze_model_vocabulary(const adze_model* model) {
  return model == nullptr ? 0 : model->tokenizer.size();
}

int32_t adze_model_context(const adze_model* model) {
  return model == nullptr ? 0 : model->model.context();
}

adze_status adze_tokenize(const adze_model* model, const char* text, size_t bytes,
                          int parse_special, int32_t* tokens, size_t capacity, size_t* count,
                          adze_error* error) {
  return guarded(error, [&] {
    needed(count, "count") = 0;
    check_array(text, bytes, "text");
    const std::string_view view = bytes == 0 ? std::string_view() : std::string_view(text, bytes);
    const auto out = needed(model, "model").tokenizer.encode(view, parse_special != 0);
    return copy_out(out.data(), out.size(), tokens, capacity, count, error);
  });
}

adze_status adze_detokenize(const adze_model* model, const int32_t* tokens, size_t count,
                            char* text, size_t capacity, size_t* bytes, adze_error* error) {
  return guarded(error, [&] {
    needed(bytes, "bytes") = 0;
    check_array(tokens, count, "tokens");
    const std::string out = needed(model, "model").tokenizer.decode({tokens, tokens + count});
    return copy_out(out.data(), out.size(), text, capacity, bytes, error);
  });
}

adze_status adze_chat_tokens(const adze_model* model, const char* system, const char* user,
                             int32_t* tokens, size_t capacity, size_t* count, adze_error* error) {
  return guarded(error, [&] {
    needed(count, "count") = 0;
    const auto out = needed(model, "model")
                         .model.chat_tokens(system == nullptr ? "" : system, &needed(user, "user"));
    return copy_out(out.data(), out.size(), tokens, capacity, count, error);
  });
}

adze_status adze_engine_options_init(adze_engine_options* options, size_t size, adze_error* error) {
  return guarded(error, [&] {
    return init(options, size, default_engine_options(), kEngineOptionsSize, "options");
  });
}

adze_status adze_request_init(adze_request* request, size_t size, adze_error* error) {
  return guarded(error,
                 [&] { return init(request, size, default_request(), kRequestSize, "request"); });
}

adze_status adze_engine_create(adze_model* model, const adze_engine_options* options,
                               adze_engine** engine, adze_error* error) {
  return guarded(error, [&] {
    needed(engine, "engine") = nullptr;
    adze_engine_options given = default_engine_options();
    if (options != nullptr) given = read(options, given, kEngineOptionsSize, "options");
    adze::EngineOptions out;
    out.cache_tokens = given.cache_tokens;
    out.speculated_tokens = given.speculated_tokens;
    if (given.draft != nullptr) out.draft = &given.draft->model;
    *engine = new adze_engine{adze::Engine(needed(model, "model").model, out)};
    return ADZE_OK;
  });
}

void adze_engine_destroy(adze_engine* engine) { delete engine; }

adze_status adze_engine_submit(adze_engine* engine, const adze_request* request, uint64_t* id,
                               adze_error* error) {
  return guarded(error, [&] {
    const adze_request given = read(request, default_request(), kRequestSize, "request");
    const uint64_t submitted = needed(engine, "engine").engine.submit(request_of(given));
    if (id != nullptr) *id = submitted;
    return ADZE_OK;
  });
}

adze_status adze_engine_cancel(adze_engine* engine, uint64_t id, adze_error* error) {
  return guarded(error, [&] {
    needed(engine, "engine").engine.cancel(id);
    return ADZE_OK;
  });
}

adze_status adze_engine_step(adze_engine* engine, int* more, adze_error* error) {
  return guarded(error, [&] {
    needed(more, "more") = 0;
    adze::Engine& stepped = needed(engine, "engine").engine;
    *more = 1;  // after a failure
    *more = stepped.step() ? 1 : 0;
    return ADZE_OK;
  });
}

}  // extern "C"
