// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program made ready for the host driver: every command with its code chosen and its numbers
// evaluated, pointers set when buffers are bound, and the graph of what waits for what.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_HOST_PROGRAM_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_HOST_PROGRAM_H

#include "drivers/host/attention.h"
#include "drivers/host/attention_grad.h"
#include "drivers/host/collective.h"
#include "drivers/host/kernel_module.h"
#include "drivers/host/scheduler.h"
#include "drivers/host/split_gemm.h"
#include "hal/hal.h"

namespace cleave::host {

/// What a worker owns: scratch memory, which grows between runs.
class Worker {
public:
  Worker() = default;
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;
  Status reserve(size_t scratchBytes);
  void *scratch() const { return scratch_; }

private:
  void *scratch_ = nullptr;
  size_t scratchBytes_ = 0;
};

class HostProgram : private TaskExecutor {
public:
  static hal::StatusOr<std::unique_ptr<HostProgram>>
  make(hal::ProgramDesc desc, KernelModule *module, GemmCache &gemms, ReduceFunction reduce);
  /// Runs on the scheduler's workers, or (seed not 0) interleaved on the calling thread. The caller
  /// sees to it that one run goes at a time.
  Status run(const hal::Bindings &bindings, Scheduler *scheduler, uint64_t seed,
             std::span<Worker> workers);
  /// Runs in a legal order on the calling thread, and looks at what every command gives.
  hal::StatusOr<std::vector<hal::NotFinite>> runChecked(const hal::Bindings &bindings,
                                                        std::span<Worker> workers);
  /// Times every task from now on.
  void enableProfile();
  std::vector<std::vector<uint64_t>> timings() const;

private:
  HostProgram(hal::ProgramDesc desc, ReduceFunction reduce)
      : desc_(std::move(desc)), reduce_(reduce) {}

  struct Launch {
    KernelFunction function;
    uint32_t firstPointer, firstScalar;
  };
  struct Attention {
    AttentionPlan plan;
    AttentionBuffers buffers;
    uint32_t pieces;
  };
  struct AttentionGrad {
    AttentionGradPlan plan;
    AttentionGradBuffers buffers;
  };
  struct Copy {
    const void *src;
    void *dst;
    uint64_t bytes;
  };
  struct Fill {
    void *dst;
    uint64_t bytes;
    uint32_t elementSize;
    uint8_t pattern[8];
  };
  struct Slice {
    const hal::CollectiveCommand *command;
    const void *src;
    void *dst;
  };
  enum class Kind : uint8_t { Launch, Gemm, Attention, AttentionGrad, Copy, Fill, Slice, Meeting };
  struct Step {
    Kind kind;
    uint32_t index; ///< in the vector of its kind
  };

  /// Pieces that an instruction is cut into so that few devices keep many workers busy. Depends on
  /// the number of devices and not on that of workers: so do the bits of the results.
  uint32_t maxPieces() const;
  /// Makes a task whose work comes in pieces: a meeting of its own.
  void makePieces(uint32_t task, uint32_t pieces);
  Status build(KernelModule *module, GemmCache &gemms);
  Status addStep(const hal::Command &command, KernelModule *module, GemmCache &gemms);
  Status addMeetings();
  void addDependencies();
  void bind(const hal::Bindings &bindings);
  void bindStep(const hal::Command &command, const Step &step, uint8_t *const *bases);
  Status runTask(uint32_t task, uint32_t worker) override;
  Status execute(const Step &step, uint32_t worker);
  Status executePiece(const Step &step, uint32_t piece, uint32_t worker);
  Status runMeetingPiece(uint32_t meeting, uint32_t piece, uint32_t worker) override;
  /// Looks at what a command has given.
  void check(uint32_t task);
  std::string describeStuck() const;
  std::string taskText(uint32_t task) const;

  hal::ProgramDesc desc_;
  ReduceFunction reduce_;
  std::vector<uint32_t> firstTask_; ///< of each device; tasks of a device are its commands in order
  std::vector<Step> steps_;         ///< one a task
  std::vector<Launch> launches_;
  std::vector<void *> pointers_;
  std::vector<int64_t> scalars_;
  std::vector<SplitGemm> gemms_;
  std::vector<Attention> attentions_;
  std::vector<AttentionGrad> attentionGrads_;
  std::vector<Copy> copies_;
  std::vector<Fill> fills_;
  std::vector<Slice> slices_;
  std::vector<Collective> collectives_;
  std::vector<Step> meetingSteps_; ///< what each meeting of the graph runs
  size_t scratchBytes_ = 0;

  TaskGraph graph_;
  std::unique_ptr<TaskState> state_;
  std::vector<std::array<uint8_t *, hal::kNumRegions>> bound_;
  std::span<Worker> workers_; ///< of the run in progress
  std::span<const hal::KernelDecl> kernels_;
  std::vector<hal::NotFinite> *notFinite_ = nullptr; ///< of a checked run in progress
  bool profile_ = false;
  std::vector<uint64_t> taskNanoseconds_;
  std::unique_ptr<std::atomic<uint64_t>[]> meetingNanoseconds_;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_HOST_PROGRAM_H
