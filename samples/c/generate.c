/* Answers a question: generate MODEL QUESTION [MAX_TOKENS]
 *
 * The text goes to standard output while it is made. */
#include <adze/adze.h>
#include <stdio.h>
#include <stdlib.h>

static int print_token(void* user, const adze_token* token) {
  (void)user;
  fwrite(token->text, 1, token->text_bytes, stdout);
  fflush(stdout);
  return ferror(stdout); /* nobody reads: stop */
}

static void print_finish(void* user, const adze_finish* finish) {
  fwrite(finish->text, 1, finish->text_bytes, stdout);
  putchar('\n');
  if (finish->reason == ADZE_FINISH_ERROR) {
    fprintf(stderr, "generate: %s\n", finish->error);
    *(int*)user = 1;
  }
}

/* The prompt's tokens, to be freed, or NULL. */
static int32_t* read_prompt(const adze_model* model, const char* question, size_t* count,
                            adze_error* error) {
  int32_t* tokens;
  if (adze_chat_tokens(model, NULL, question, NULL, 0, count, error) != ADZE_BUFFER_TOO_SMALL) {
    return NULL;
  }
  tokens = malloc(*count * sizeof *tokens);
  if (tokens == NULL) {
    snprintf(error->message, sizeof error->message, "out of memory");
    return NULL;
  }
  if (adze_chat_tokens(model, NULL, question, tokens, *count, count, error) != ADZE_OK) {
    free(tokens);
    return NULL;
  }
  return tokens;
}

int main(int argc, char** argv) {
  adze_model* model = NULL;
  adze_engine* engine = NULL;
  int32_t* tokens = NULL;
  size_t count = 0;
  adze_request request;
  adze_error error;
  int more = 1;
  int failed = 0;
  adze_status status;
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: generate MODEL QUESTION [MAX_TOKENS]\n");
    return 2;
  }
  status = adze_request_init(&request, sizeof request, &error);
  if (status == ADZE_OK) status = adze_model_open(argv[1], NULL, &model, &error);
  if (status == ADZE_OK) status = adze_engine_create(model, NULL, &engine, &error);
  if (status == ADZE_OK) {
    tokens = read_prompt(model, argv[2], &count, &error);
    if (tokens == NULL) status = ADZE_INTERNAL;
  }
  if (status == ADZE_OK) {
    request.tokens = tokens;
    request.token_count = count;
    request.temperature = 0;
    if (argc == 4) request.max_tokens = (int32_t)strtol(argv[3], NULL, 10);
    request.on_token = print_token;
    request.on_finish = print_finish;
    request.user = &failed;
    status = adze_engine_submit(engine, &request, NULL, &error);
  }
  while (status == ADZE_OK && more) status = adze_engine_step(engine, &more, &error);
  if (status != ADZE_OK) {
    fprintf(stderr, "generate: %s\n", error.message);
    failed = 1;
  }
  free(tokens);
  adze_engine_destroy(engine);
  adze_model_close(model);
  return failed;
}
