// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Embeds the runtime: loads an executable and the weights of its model, runs it on one batch of
// token ids, and prints the loss.
//
//   cleave compile ./llama -o llama.cleave --mesh dp=2,tp=4 --batch 4 --seq 32
//   cleave-example-embed llama.cleave ./llama

#include <cleave/runtime.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the program with the runtime's message if a call failed. A library would pass it on.
static void check(cleave_status *status) {
  if (!status)
    return;
  fprintf(stderr, "%s\n", cleave_status_message(status));
  cleave_status_free(status);
  exit(1);
}

// Gives the input of this name the ids 0, 1, 2, ...
static void set_ids(cleave_session *session, const cleave_executable *executable,
                    const cleave_tensor_info *info) {
  uint64_t count = info->bytes / sizeof(int64_t), limit = cleave_executable_token_limit(executable);
  int64_t *ids = malloc(info->bytes);
  if (!ids)
    exit(1);
  for (uint64_t i = 0; i < count; ++i)
    ids[i] = (int64_t)(limit ? i % limit : i);
  cleave_array array = {CLEAVE_I64, info->rank, info->shape, NULL, ids};
  check(cleave_session_set_input(session, "forward", info->name, &array));
  free(ids);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s model.cleave weights-folder\n", argv[0]);
    return 2;
  }
  cleave_executable *executable = NULL;
  check(cleave_executable_load(argv[1], &executable));
  printf("%u devices\n", cleave_executable_num_devices(executable));

  cleave_session_options options = CLEAVE_SESSION_OPTIONS_INIT;
  cleave_session *session = NULL;
  check(cleave_session_create(executable, &options, &session));
  check(cleave_session_load_weights(session, argv[2]));

  size_t inputs = 0;
  check(cleave_executable_num_tensors(executable, CLEAVE_INPUT, "forward", &inputs));
  for (size_t i = 0; i < inputs; ++i) {
    cleave_tensor_info info;
    check(cleave_executable_tensor(executable, CLEAVE_INPUT, "forward", i, &info));
    printf("input %s %s, sharded %s\n", cleave_dtype_name(info.dtype), info.name, info.sharding);
    set_ids(session, executable, &info);
  }
  check(cleave_session_run(session, "forward"));
  float loss = 0;
  check(cleave_session_read(session, CLEAVE_OUTPUT, "forward", "loss", &loss, sizeof(loss)));
  printf("loss %.6f\n", loss);

  cleave_session_free(session);
  cleave_executable_free(executable);
  return 0;
}
