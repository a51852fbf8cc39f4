/* Copyright 2026 The Cleave Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C ABI of the Cleave runtime: load a .cleave executable and run it.
 *
 * Conventions
 * - Functions that can fail return a cleave_status: NULL is success, anything else must be given to
 *   cleave_status_free. Their results are written only on success.
 * - Strings are UTF-8, zero-terminated. What a function returns by pointer into an object lives as
 *   long as the object.
 * - There is no global state. Any thread may call any function; calls on one session take turns.
 * - No function ends the process, and no C++ exception leaves one.
 * - An executable holds native code: load only files you would load as a shared library.
 */
#ifndef CLEAVE_RUNTIME_H
#define CLEAVE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CLEAVE_API __attribute__((visibility("default")))
#else
#define CLEAVE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---- */

typedef struct cleave_status cleave_status;

typedef enum cleave_code {
  CLEAVE_OK = 0,
  CLEAVE_INVALID_ARGUMENT = 1,    /* the caller's value is wrong: shape, type, token, option */
  CLEAVE_NOT_FOUND = 2,           /* no such file, entry, tensor, driver */
  CLEAVE_DATA_LOSS = 3,           /* a file is damaged or not what it should be */
  CLEAVE_FAILED_PRECONDITION = 4, /* not now, or not on this machine */
  CLEAVE_RESOURCE_EXHAUSTED = 5,  /* memory, threads */
  CLEAVE_UNIMPLEMENTED = 6,
  CLEAVE_ABORTED = 7, /* a run is stuck */
  CLEAVE_INTERNAL = 8
} cleave_code;

/* Both accept NULL: CLEAVE_OK and "". The message is one line. */
CLEAVE_API cleave_code cleave_status_code(const cleave_status *status);
CLEAVE_API const char *cleave_status_message(const cleave_status *status);
CLEAVE_API void cleave_status_free(cleave_status *status);

/* ---- versions ---- */

CLEAVE_API const char *cleave_version(void);
/* The newest file format that this runtime reads. */
CLEAVE_API uint32_t cleave_format_version(void);

/* ---- executables ---- */

typedef enum cleave_dtype {
  CLEAVE_F32 = 0,
  CLEAVE_F64 = 1,
  CLEAVE_BF16 = 2,
  CLEAVE_F16 = 3,
  CLEAVE_I64 = 4,
  CLEAVE_I32 = 5,
  CLEAVE_I16 = 6,
  CLEAVE_I8 = 7,
  CLEAVE_U64 = 8,
  CLEAVE_U32 = 9,
  CLEAVE_U16 = 10,
  CLEAVE_U8 = 11,
  CLEAVE_BOOL = 12
} cleave_dtype;

CLEAVE_API size_t cleave_dtype_size(cleave_dtype dtype);      /* bytes; 0 if unknown */
CLEAVE_API const char *cleave_dtype_name(cleave_dtype dtype); /* as in safetensors: "F32", ... */

typedef enum cleave_tensor_kind {
  CLEAVE_INPUT = 0,
  CLEAVE_OUTPUT = 1,
  CLEAVE_STATE = 2 /* weights and other tensors that outlive a run; shared by all entries */
} cleave_tensor_kind;

typedef struct cleave_tensor_info {
  const char *name;
  cleave_dtype dtype;
  size_t rank;
  const uint64_t *shape;       /* global */
  const uint64_t *local_shape; /* on one device, padded: ceil(size / shards) */
  const uint64_t *shards;      /* in how many pieces each dimension is cut */
  const char *sharding;        /* the axes that cut each dimension: [{"dp"}, {}] */
  uint64_t bytes;              /* of the global tensor */
  uint64_t local_bytes;        /* on one device */
  int has_default;             /* inputs: need not be set, all elements are then default_value */
  double default_value;
} cleave_tensor_info;

/* Bytes on every device. */
typedef struct cleave_memory_info {
  uint64_t state, input, output, stash, scratch, workspace;
} cleave_memory_info;

typedef struct cleave_executable cleave_executable;

/* Loads and verifies a file. Sessions keep what they need: it may be freed while they live. */
CLEAVE_API cleave_status *cleave_executable_load(const char *path, cleave_executable **executable);
/* The same for bytes in memory, which are copied. */
CLEAVE_API cleave_status *cleave_executable_load_memory(const void *data, size_t bytes,
                                                        cleave_executable **executable);
CLEAVE_API void cleave_executable_free(cleave_executable *executable);

CLEAVE_API uint32_t cleave_executable_num_devices(const cleave_executable *executable);
CLEAVE_API size_t cleave_executable_mesh_rank(const cleave_executable *executable);
CLEAVE_API cleave_status *cleave_executable_mesh_axis(const cleave_executable *executable,
                                                      size_t axis, const char **name,
                                                      uint32_t *size);
CLEAVE_API size_t cleave_executable_num_entries(const cleave_executable *executable);
/* NULL if there are not so many. */
CLEAVE_API const char *cleave_executable_entry_name(const cleave_executable *executable,
                                                    size_t index);
/* `entry` is not looked at for states and may be NULL. */
CLEAVE_API cleave_status *cleave_executable_num_tensors(const cleave_executable *executable,
                                                        cleave_tensor_kind kind, const char *entry,
                                                        size_t *count);
CLEAVE_API cleave_status *cleave_executable_tensor(const cleave_executable *executable,
                                                   cleave_tensor_kind kind, const char *entry,
                                                   size_t index, cleave_tensor_info *info);
CLEAVE_API cleave_status *cleave_executable_memory(const cleave_executable *executable,
                                                   const char *entry, cleave_memory_info *info);
/* How many instructions, and how many collectives among them, each device runs. */
CLEAVE_API cleave_status *cleave_executable_num_instructions(const cleave_executable *executable,
                                                             const char *entry,
                                                             size_t *instructions,
                                                             size_t *collectives);
/* Names below which ids in I64 inputs `input_ids` and `labels` must lie; 0 if there is no limit. */
CLEAVE_API uint64_t cleave_executable_token_limit(const cleave_executable *executable);
/* The graph that the executable was compiled from, as MLIR text; "" if the file does not carry it.
 */
CLEAVE_API const char *cleave_executable_source(const cleave_executable *executable);
/* Everything the file says, as JSON: mesh, states, entries with memory, collectives, matrix
 * products, kernels, and for each the model part it comes from. Free it with cleave_string_free. */
CLEAVE_API cleave_status *cleave_executable_describe_json(const cleave_executable *executable,
                                                          char **text);
CLEAVE_API void cleave_string_free(char *text);

/* ---- sessions ---- */

typedef struct cleave_session cleave_session;

typedef struct cleave_session_options {
  size_t struct_size;         /* sizeof(cleave_session_options), set by the initializer */
  const char *driver;         /* NULL: "host". "null" checks the program and computes nothing */
  uint32_t threads;           /* host: workers; 0: one for each core of the process */
  uint64_t interleaving_seed; /* host, for tests: not 0: one thread runs all streams in a random
                                 legal order, replayable by the seed */
  int poison;                 /* for tests: what must not be read holds NaN */
  /* host: where the buffers of the devices live; NULL: the runtime's own. Alignment is at least 64
     bytes. */
  void *(*allocate)(void *context, uint64_t bytes, uint64_t alignment);
  void (*release)(void *context, void *memory, uint64_t bytes);
  void *allocator_context;
  int profile; /* host: time every instruction, see cleave_session_profile_json */
} cleave_session_options;

#define CLEAVE_SESSION_OPTIONS_INIT                                                                \
  {sizeof(cleave_session_options), NULL, 0, 0, 0, NULL, NULL, NULL, 0}

/* Options may be NULL. */
CLEAVE_API cleave_status *cleave_session_create(const cleave_executable *executable,
                                                const cleave_session_options *options,
                                                cleave_session **session);
/* Frees everything. The status reports what the driver finds wrong (the null driver: leaks); the
 * session is gone in any case. Accepts NULL. */
CLEAVE_API cleave_status *cleave_session_close(cleave_session *session);
/* The same without a report. */
CLEAVE_API void cleave_session_free(cleave_session *session);

/* A global array in the caller's memory. Strides are in bytes; NULL: row-major. */
typedef struct cleave_array {
  cleave_dtype dtype;
  size_t rank;
  const uint64_t *shape;
  const int64_t *strides;
  const void *data;
} cleave_array;

/* Reads the states from a folder with model.safetensors, or model.safetensors.index.json and its
 * files. Every device reads only its shard. F32, BF16, F16 and F64 are converted to the state's
 * type. */
CLEAVE_API cleave_status *cleave_session_load_weights(cleave_session *session, const char *folder);
/* Sets one state; floating-point types are converted. */
CLEAVE_API cleave_status *cleave_session_set_state(cleave_session *session, const char *name,
                                                   const cleave_array *array);
/* Copies an input to the devices: each gets its shard. It stays set for later runs. Type and shape
 * must be the input's. */
CLEAVE_API cleave_status *cleave_session_set_input(cleave_session *session, const char *entry,
                                                   const char *name, const cleave_array *array);
/* The same from a DLPack tensor in host memory, which stays the caller's: a `const DLTensor *`
 * (dlpack/dlpack.h). */
CLEAVE_API cleave_status *cleave_session_set_input_dlpack(cleave_session *session,
                                                          const char *entry, const char *name,
                                                          const void *dl_tensor);
/* Runs an entry to its end. Inputs that were not set have their defaults, if they have one. */
CLEAVE_API cleave_status *cleave_session_run(cleave_session *session, const char *entry);
/* The same, one instruction after the other, looking at what each gives, padding included. Writes
 * as JSON which instructions gave infinities or NaNs, in their order: {"entry": ..., "not_finite":
 * [{"instruction", "operation", "site", "devices", "values", "from_finite": it read none, "kernel":
 * of a launch, "repetition": from 0 on, where it is run several times}]}. Slow. Free the text with
 * cleave_string_free. */
CLEAVE_API cleave_status *cleave_session_run_checked(cleave_session *session, const char *entry,
                                                     char **text);
/* Bytes that the buffers of a device take now: those of cleave_executable_memory for the entries
 * used so far, of which scratch, stash and workspace are shared. */
CLEAVE_API cleave_status *cleave_session_allocated_bytes(cleave_session *session, uint32_t device,
                                                         uint64_t *bytes);
/* Where the time of an entry's last run went, as JSON: by operation, by kernel, by instruction.
 * Needs a session with `profile`. Free the text with cleave_string_free. */
CLEAVE_API cleave_status *cleave_session_profile_json(cleave_session *session, const char *entry,
                                                      char **text);
/* Assembles a global tensor, row-major, in its own type. `bytes` is the size of `data` and must be
 * the tensor's. `entry` is not looked at for states. */
CLEAVE_API cleave_status *cleave_session_read(cleave_session *session, cleave_tensor_kind kind,
                                              const char *entry, const char *name, void *data,
                                              uint64_t bytes);
/* A copy of an output as a DLPack tensor: writes a `DLManagedTensor *`, whose deleter frees it. */
CLEAVE_API cleave_status *cleave_session_read_dlpack(cleave_session *session, const char *entry,
                                                     const char *name, void **dl_managed_tensor);
/* What one device holds, padding included: local_bytes of the tensor. */
CLEAVE_API cleave_status *cleave_session_read_shard(cleave_session *session,
                                                    cleave_tensor_kind kind, const char *entry,
                                                    const char *name, uint32_t device, void *data,
                                                    uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* CLEAVE_RUNTIME_H */
