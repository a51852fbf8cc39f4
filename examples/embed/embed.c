/* Copyright 2026 The Cleave Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loads an executable, gives it tokens, runs it and reads what comes out.
 *
 *   cleave compile ./llama -o llama.cleave --mesh dp=2,tp=4 --batch 4 --seq 32
 *   cleave-example-embed llama.cleave ./llama
 */
#include <cleave/runtime.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every status must be freed; its message is one line. */
static int failed(cleave_status *status) {
  if (!status)
    return 0;
  fprintf(stderr, "embed: error: %s\n", cleave_status_message(status));
  cleave_status_free(status);
  return 1;
}

/* What an entry takes or gives under a name. */
static int find(const cleave_executable *executable, cleave_tensor_kind kind, const char *entry,
                const char *name, cleave_tensor_info *info) {
  size_t count = 0;
  if (failed(cleave_executable_num_tensors(executable, kind, entry, &count)))
    return 0;
  for (size_t i = 0; i < count; ++i) {
    if (failed(cleave_executable_tensor(executable, kind, entry, i, info)))
      return 0;
    if (strcmp(info->name, name) == 0)
      return 1;
  }
  fprintf(stderr, "embed: error: entry %s has no tensor %s\n", entry, name);
  return 0;
}

static int run(const cleave_executable *executable, cleave_session *session, const char *entry) {
  cleave_tensor_info ids, logits;
  if (!find(executable, CLEAVE_INPUT, entry, "input_ids", &ids) ||
      !find(executable, CLEAVE_OUTPUT, entry, "logits", &logits))
    return 1;
  uint64_t batch = ids.shape[0], sequence = ids.shape[1], vocabulary = logits.shape[2];

  int64_t *tokens = malloc(ids.bytes);
  float *scores = malloc(logits.bytes);
  float loss = 0;
  int status = 1;
  if (!tokens || !scores) {
    fprintf(stderr, "embed: error: out of memory\n");
    goto end;
  }
  for (uint64_t i = 0; i < batch * sequence; ++i)
    tokens[i] = (int64_t)(i * 7 % cleave_executable_token_limit(executable));

  /* The arrays are global; each device gets its shard. Both inputs are copied before the call
   * returns. */
  cleave_array array = {ids.dtype, ids.rank, ids.shape, NULL, tokens};
  if (failed(cleave_session_set_input(session, entry, "input_ids", &array)) ||
      failed(cleave_session_set_input(session, entry, "labels", &array)) ||
      failed(cleave_session_run(session, entry)) ||
      failed(cleave_session_read(session, CLEAVE_OUTPUT, entry, "loss", &loss, sizeof(loss))) ||
      failed(cleave_session_read(session, CLEAVE_OUTPUT, entry, "logits", scores, logits.bytes)))
    goto end;

  printf("loss %.5f\n", loss);
  for (uint64_t row = 0; row < batch; ++row) {
    const float *last = scores + (row * sequence + sequence - 1) * vocabulary;
    uint64_t best = 0;
    for (uint64_t token = 1; token < vocabulary; ++token)
      if (last[token] > last[best])
        best = token;
    printf("row %" PRIu64 ": the likeliest next token is %" PRIu64 "\n", row, best);
  }
  status = 0;
end:
  free(tokens);
  free(scores);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: embed FILE.cleave FOLDER_OF_WEIGHTS\n");
    return 2;
  }
  cleave_executable *executable = NULL;
  if (failed(cleave_executable_load(argv[1], &executable)))
    return 2;
  printf("%" PRIu32 " devices, %zu entry\n", cleave_executable_num_devices(executable),
         cleave_executable_num_entries(executable));

  cleave_session_options options = CLEAVE_SESSION_OPTIONS_INIT;
  options.threads = 2;
  cleave_session *session = NULL;
  int status = 2;
  if (!failed(cleave_session_create(executable, &options, &session)) &&
      !failed(cleave_session_load_weights(session, argv[2])))
    status = run(executable, session, "forward");
  cleave_session_free(session);
  cleave_executable_free(executable);
  return status;
}
