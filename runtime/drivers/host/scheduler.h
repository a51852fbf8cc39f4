// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a graph of tasks on a pool of workers. Logical devices are not threads: a task runs when
// what it depends on is done, on whichever worker is free, and a device that waits holds none.
// Tasks that belong to a meeting (a collective; or one large task by itself) only arrive there;
// when the last has arrived, the meeting's pieces are run by all workers together, and then all of
// its tasks are done.
//
// A worker goes on with a task that it has just made ready; what else became ready goes to the
// queue of its home worker, where idle workers help themselves. Idle workers sleep on a condition
// variable. A run allocates nothing.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_SCHEDULER_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_SCHEDULER_H

#include "base/status.h"
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cleave::host {

using rt::Status;

inline constexpr uint32_t kNone = ~uint32_t(0);

/// Tasks, what must be done before each, and where they meet.
struct TaskGraph {
  struct Task {
    uint32_t device = 0;
    uint32_t dependencies = 0;   ///< how many tasks have this one among their successors
    uint32_t firstSuccessor = 0; ///< in `successors`
    uint32_t numSuccessors = 0;
    uint32_t meeting = kNone;
  };
  struct Meeting {
    uint32_t firstTask = 0; ///< in `meetingTasks`
    uint32_t numTasks = 0;  ///< tasks of this graph that take part
    uint32_t expected = 0;  ///< participants; more than numTasks never meet
    uint32_t pieces = 1;
  };
  uint32_t numDevices = 0;
  std::vector<Task> tasks;
  std::vector<uint32_t> successors;
  std::vector<Meeting> meetings;
  std::vector<uint32_t> meetingTasks;
};

/// What the tasks do. Called from workers; `worker` is below the number of workers.
class TaskExecutor {
public:
  virtual ~TaskExecutor() = default;
  virtual Status runTask(uint32_t task, uint32_t worker) = 0;
  virtual Status runMeetingPiece(uint32_t meeting, uint32_t piece, uint32_t worker) = 0;
};

/// The changing part of one run of a graph; made once and used for every run.
class TaskState {
public:
  explicit TaskState(const TaskGraph &graph);
  void reset();
  bool arrivedAll(uint32_t meeting) const { return toArrive_[meeting].load() == 0; }
  bool isDone(uint32_t task) const { return done_[task].load() != 0; }
  bool hasArrived(uint32_t task) const { return pending_[task].load() == 0; }

private:
  friend class Scheduler;
  friend class Interleaver;
  const TaskGraph &graph_;
  std::unique_ptr<std::atomic<uint32_t>[]> pending_;    ///< open dependencies of a task
  std::unique_ptr<std::atomic<uint8_t>[]> done_;        ///< of a task
  std::unique_ptr<std::atomic<uint32_t>[]> toArrive_;   ///< at a meeting
  std::unique_ptr<std::atomic<uint32_t>[]> nextPiece_;  ///< of a meeting to hand out
  std::unique_ptr<std::atomic<uint32_t>[]> openPieces_; ///< of a meeting not done
  std::atomic<uint32_t> tasksDone_{0};
};

class Scheduler {
public:
  /// Throws std::system_error if threads can not be made.
  Scheduler(uint32_t workers, uint32_t numDevices);
  ~Scheduler();
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  uint32_t numWorkers() const { return uint32_t(queues_.size()); }
  /// Runs a graph to its end. `stuck` is set when tasks are left that nothing can start. One call
  /// at a time.
  Status run(const TaskGraph &graph, TaskState &state, TaskExecutor &executor, bool &stuck);

private:
  /// A ready task, or (with kMeetingBit) a meeting with pieces to hand out.
  using Entry = uint32_t;
  static constexpr Entry kMeetingBit = Entry(1) << 31;

  /// A ring of entries; grows only between runs.
  struct Queue {
    std::vector<Entry> ring;
    size_t head = 0, size = 0;
    void push(Entry e) { ring[(head + size++) % ring.size()] = e; }
    Entry pop() {
      Entry e = ring[head];
      head = (head + 1) % ring.size();
      --size;
      return e;
    }
  };

  void stopWorkers();
  void workerLoop(uint32_t worker);
  bool popLocked(uint32_t worker, Entry &entry);
  /// Runs an entry and whatever it makes ready that this worker goes on with.
  void process(Entry entry, uint32_t worker);
  /// Marks a task done; returns an entry to go on with or kNone, queues the others.
  Entry complete(uint32_t task, Entry next);
  /// A task's dependencies are done: runnable itself, or arrived at its meeting.
  Entry becomeReady(uint32_t task, Entry next);
  Entry startMeeting(uint32_t meeting, Entry next);
  void push(Entry entry, uint32_t device);
  void fail(Status status);

  uint32_t home(uint32_t device) const {
    return uint32_t(uint64_t(device) * queues_.size() / numDevices_);
  }

  uint32_t numDevices_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::vector<Queue> queues_;
  size_t queued_ = 0;
  uint32_t running_ = 0, sleeping_ = 0;
  bool stop_ = false, active_ = false;

  const TaskGraph *graph_ = nullptr;
  TaskState *state_ = nullptr;
  TaskExecutor *executor_ = nullptr;
  std::atomic<bool> failed_{false};
  Status error_;
};

/// Runs a graph on the calling thread in a random legal order: at every step any ready task, or any
/// meeting at which all have arrived, may be next. Finds orderings that the file relies on but does
/// not ask for. The seed replays the order.
class Interleaver {
public:
  static Status run(const TaskGraph &graph, TaskState &state, TaskExecutor &executor, uint64_t seed,
                    bool &stuck);
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_SCHEDULER_H
