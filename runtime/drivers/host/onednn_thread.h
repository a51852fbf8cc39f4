// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN splits its work over OpenMP's threads. Parallelism here is the driver's business, so every
// call of oneDNN, also the making of a primitive, is inside a OneThread.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_ONEDNN_THREAD_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_ONEDNN_THREAD_H

#include <oneapi/dnnl/dnnl_config.h>

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
// OpenMP's API; declared here because clang's omp.h comes with another OpenMP library than the one
// that oneDNN was built with.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int);
}
#elif DNNL_CPU_RUNTIME != DNNL_RUNTIME_SEQ
#error                                                                                             \
    "oneDNN must be built with OpenMP or sequential: its threads can not be kept at one otherwise"
#endif

namespace cleave::host {

/// Sets OpenMP's number of threads to 1 while it lives. The number belongs to the calling thread,
/// and is given back to it: a program that uses OpenMP itself does not notice.
class OneThread {
public:
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1)
      omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1)
      omp_set_num_threads(before_);
  }

private:
  int before_;
#else
  OneThread() {}
  ~OneThread() {}
#endif
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_ONEDNN_THREAD_H
