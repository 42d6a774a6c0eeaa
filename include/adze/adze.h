/* The C interface of adze, stable as a binary interface: structs grow at their ends only.
 *
 * Every function that can fail returns an adze_status, and writes a message where `error` is not
 * NULL. No C++ exception leaves a function. Text is UTF-8 and counted in bytes; the ends of strings
 * marked "0-terminated" are found by the library.
 *
 * Structs that a caller fills begin with their size: fill them with their _init function, which
 * sets all defaults, then change fields. A library accepts structs of older sizes, and those of
 * newer ones as long as what it does not know is 0.
 *
 * Threads: functions of one model, and of its engine, are called by one thread at a time.
 * adze_tokenize, adze_detokenize and adze_chat_tokens may be called by several at once. Different
 * models are independent.
 */
#ifndef ADZE_ADZE_H
#define ADZE_ADZE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum adze_status {
  ADZE_OK = 0,
  ADZE_INVALID_INPUT = 1,      /* a file, a field or an argument is wrong, NULL included */
  ADZE_UNSUPPORTED = 2,        /* well-formed, but this library cannot handle it */
  ADZE_RESOURCE_EXHAUSTED = 3, /* memory, cache blocks */
  ADZE_UNAVAILABLE = 4,        /* input or output failed */
  ADZE_INTERNAL = 5,           /* a defect of the library, or a damaged model */
  ADZE_BUFFER_TOO_SMALL = 6    /* nothing was written; the count says how much room is needed */
} adze_status;

/* One line that says what went wrong: 0-terminated, cut at a whole character, "" after ADZE_OK. */
typedef struct adze_error {
  char message[1024];
} adze_error;

/* "MAJOR.MINOR.PATCH" of the library that is linked; 0-terminated, never freed. */
const char* adze_version(void);

/* ---- Models ---- */

typedef struct adze_model adze_model;

typedef enum adze_cache_type {
  ADZE_CACHE_BF16 = 0,
  ADZE_CACHE_INT8 = 1,
  ADZE_CACHE_F32 = 2
} adze_cache_type;

typedef struct adze_model_options {
  size_t size;
  int32_t threads;       /* that compute; 0: one per CPU */
  int32_t context;       /* tokens of a sequence at most; cut to what the model was made for */
  int32_t max_rows;      /* tokens of one batch */
  int32_t max_sequences; /* answers that are generated at once */
  int32_t cache_type;    /* an adze_cache_type, of keys and values */
  int32_t reserved;      /* 0 */
} adze_model_options;

/* `size` is sizeof(adze_model_options) of the caller. */
adze_status adze_model_options_init(adze_model_options* options, size_t size, adze_error* error);

/* Loads the model in `path` (0-terminated), a .gguf file or a Hugging Face folder. `options` may be
 * NULL: all defaults. *model is NULL after a failure. */
adze_status adze_model_open(const char* path, const adze_model_options* options, adze_model** model,
                            adze_error* error);
/* NULL is ignored. An engine of the model keeps what it needs. */
void adze_model_close(adze_model* model);

/* Number of tokens, 0 for NULL: ids are from 0 to this, exclusive. */
int32_t adze_model_vocabulary(const adze_model* model);
/* Tokens of a sequence at most, prompt and answer together; 0 for NULL. */
int32_t adze_model_context(const adze_model* model);

/* ---- Text and tokens ---- */

/* The tokens of `bytes` bytes of text. Text that spells a control token becomes that token where
 * `parse_special` is not 0: give 0 for what users write. *count becomes the number of tokens, also
 * with ADZE_BUFFER_TOO_SMALL; `tokens` may be NULL where `capacity` is 0. */
adze_status adze_tokenize(const adze_model* model, const char* text, size_t bytes,
                          int parse_special, int32_t* tokens, size_t capacity, size_t* count,
                          adze_error* error);

/* The text of `count` tokens without control tokens, not terminated. *bytes becomes its length,
 * also with ADZE_BUFFER_TOO_SMALL; `text` may be NULL where `capacity` is 0. */
adze_status adze_detokenize(const adze_model* model, const int32_t* tokens, size_t count,
                            char* text, size_t capacity, size_t* bytes, adze_error* error);

/* The prompt of a conversation through the model's chat template: a system's message (NULL or "":
 * none) and a user's, both 0-terminated. Otherwise as adze_tokenize. */
adze_status adze_chat_tokens(const adze_model* model, const char* system, const char* user,
                             int32_t* tokens, size_t capacity, size_t* count, adze_error* error);

/* ---- Engines ---- */

typedef struct adze_engine adze_engine;

typedef struct adze_engine_options {
  size_t size;
  int32_t cache_tokens; /* room for all sequences together; 0: one of the full context */
  /* Speculative decoding: so many tokens are proposed at most in a step; 0: none. Answers stay bit
   * for bit what they are. */
  int32_t speculated_tokens;
  /* Proposes them; a smaller model with the same vocabulary, which this engine then has for itself.
   * NULL: what followed the last tokens when they came before is proposed. */
  adze_model* draft;
} adze_engine_options;

adze_status adze_engine_options_init(adze_engine_options* options, size_t size, adze_error* error);

typedef struct adze_log_probability {
  int32_t token;
  int32_t reserved;
  double value; /* natural logarithm */
} adze_log_probability;

/* A token of an answer. Pointers are valid during the call that gets it. */
typedef struct adze_token {
  size_t size;
  int32_t id;
  int32_t has_log_probability; /* 0 where the request wants none */
  const char* text;            /* what it completed, whole characters; not terminated */
  size_t text_bytes;           /* may be 0: held back */
  double log_probability;
  const adze_log_probability* likeliest; /* likeliest first */
  size_t likeliest_count;
} adze_token;

typedef enum adze_finish_reason {
  ADZE_FINISH_STOP = 0,      /* the model ended its answer, or a stop string came */
  ADZE_FINISH_LENGTH = 1,    /* max_tokens or the context is used up */
  ADZE_FINISH_CANCELLED = 2, /* by adze_engine_cancel or by on_token */
  ADZE_FINISH_ERROR = 3
} adze_finish_reason;

/* The end of an answer. Pointers are valid during the call that gets it. */
typedef struct adze_finish {
  size_t size;
  int32_t reason; /* an adze_finish_reason */
  int32_t reserved;
  const char* text; /* what was held back and is no part of a stop string; not terminated */
  size_t text_bytes;
  const char* error; /* one line, 0-terminated; "" unless ADZE_FINISH_ERROR */
} adze_finish;

typedef struct adze_logit_bias {
  int32_t token;
  int32_t reserved; /* 0 */
  double bias;      /* from -100 to 100, or -infinity */
} adze_logit_bias;

/* Arrays are copied by adze_engine_submit. The fields of sampling act in the order of
 * docs/sampling.md. */
typedef struct adze_request {
  size_t size;
  const int32_t* tokens; /* the prompt */
  size_t token_count;
  const char* const* stop; /* the answer ends before one of these, 0-terminated; NULL: none */
  size_t stop_count;
  const adze_logit_bias* logit_bias; /* NULL: none */
  size_t logit_bias_count;
  uint64_t seed;
  double repetition_penalty;
  double frequency_penalty;
  double presence_penalty;
  double temperature; /* 0: the likeliest token, always */
  double top_n_sigma;
  double top_p;
  double min_p;
  double typical_p;
  int32_t top_k;
  int32_t penalty_window;
  int32_t max_tokens;        /* of the answer */
  int32_t ignore_end;        /* not 0: go on where the model ends its answer */
  int32_t log_probabilities; /* of each token and of this many likeliest, 0 to 20; -1: none */
  int32_t reserved;          /* 0 */

  /* Called from adze_engine_step with `user`: any number of tokens, then one finish. Each may be
   * NULL. They may submit and cancel requests of their engine, but not step or destroy it, and must
   * return normally. Not 0 from on_token cancels the request. */
  int (*on_token)(void* user, const adze_token* token);
  void (*on_finish)(void* user, const adze_finish* finish);
  void* user;
} adze_request;

adze_status adze_request_init(adze_request* request, size_t size, adze_error* error);

/* A model has one engine at a time. `options` may be NULL. *engine is NULL after a failure. */
adze_status adze_engine_create(adze_model* model, const adze_engine_options* options,
                               adze_engine** engine, adze_error* error);
/* Drops requests that have not finished: their functions are not called again. NULL is ignored. */
void adze_engine_destroy(adze_engine* engine);

/* Queues a request; *id, unless `id` is NULL, names it in this engine. */
adze_status adze_engine_submit(adze_engine* engine, const adze_request* request, uint64_t* id,
                               adze_error* error);
/* Finishes it with ADZE_FINISH_CANCELLED in the next step. Unknown ids are ignored. */
adze_status adze_engine_cancel(adze_engine* engine, uint64_t id, adze_error* error);
/* Computes one batch: a token for every running answer, then pieces of prompts. *more becomes 0
 * when there is nothing left to do. A failure loses nothing and leaves *more at 1, but 0 where an
 * argument is NULL: a further step tries again what could not be done. */
adze_status adze_engine_step(adze_engine* engine, int* more, adze_error* error);

#ifdef __cplusplus
}
#endif

#endif
