// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/scheduler.h"

#include <algorithm>

namespace cleave::host {

TaskState::TaskState(const TaskGraph &graph)
    : graph_(graph), pending_(new std::atomic<uint32_t>[graph.tasks.size()]),
      done_(new std::atomic<uint8_t>[graph.tasks.size()]),
      toArrive_(new std::atomic<uint32_t>[graph.meetings.size()]),
      nextPiece_(new std::atomic<uint32_t>[graph.meetings.size()]),
      openPieces_(new std::atomic<uint32_t>[graph.meetings.size()]) {}

void TaskState::reset() {
  for (size_t t = 0; t < graph_.tasks.size(); ++t) {
    pending_[t].store(graph_.tasks[t].dependencies, std::memory_order_relaxed);
    done_[t].store(0, std::memory_order_relaxed);
  }
  for (size_t m = 0; m < graph_.meetings.size(); ++m) {
    toArrive_[m].store(graph_.meetings[m].expected, std::memory_order_relaxed);
    nextPiece_[m].store(0, std::memory_order_relaxed);
    openPieces_[m].store(graph_.meetings[m].pieces, std::memory_order_relaxed);
  }
  tasksDone_.store(0);
}

Scheduler::Scheduler(uint32_t workers, uint32_t numDevices)
    : numDevices_(numDevices), queues_(workers) {
  threads_.reserve(workers);
  try {
    for (uint32_t w = 0; w < workers; ++w)
      threads_.emplace_back([this, w] { workerLoop(w); });
  } catch (...) { // the system has no more threads; the caller is told
    stopWorkers();
    throw;
  }
}

Scheduler::~Scheduler() { stopWorkers(); }

void Scheduler::stopWorkers() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread &t : threads_)
    t.join();
}

Status Scheduler::run(const TaskGraph &graph, TaskState &state, TaskExecutor &executor,
                      bool &stuck) {
  state.reset();
  stuck = false;
  std::unique_lock<std::mutex> lock(mutex_);
  graph_ = &graph;
  state_ = &state;
  executor_ = &executor;
  failed_ = false;
  error_ = absl::OkStatus();
  // Bound of what is queued at once: every task, and for every meeting a helper a worker.
  size_t capacity = graph.tasks.size() + graph.meetings.size() * queues_.size() + 1;
  for (Queue &q : queues_) {
    if (q.ring.size() < capacity) {
      q.ring.resize(capacity);
      q.head = 0;
    }
  }
  lock.unlock();
  for (uint32_t t = 0; t < graph.tasks.size(); ++t)
    if (graph.tasks[t].dependencies == 0)
      if (Entry e = becomeReady(t, kNone); e != kNone)
        push(e, graph.tasks[t].device);
  lock.lock();
  active_ = queued_ > 0;
  wake_.notify_all();
  finished_.wait(lock, [this] { return !active_; });
  stuck = error_.ok() && state.tasksDone_.load() != graph.tasks.size();
  return error_;
}

void Scheduler::workerLoop(uint32_t worker) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    Entry entry;
    if (active_ && popLocked(worker, entry)) {
      ++running_;
      lock.unlock();
      process(entry, worker);
      lock.lock();
      --running_;
      continue;
    }
    if (active_ && running_ == 0 && queued_ == 0) {
      active_ = false;
      finished_.notify_all();
    }
    if (stop_)
      return;
    ++sleeping_;
    wake_.wait(lock);
    --sleeping_;
  }
}

bool Scheduler::popLocked(uint32_t worker, Entry &entry) {
  if (queued_ == 0)
    return false;
  for (size_t i = 0; i < queues_.size(); ++i) {
    Queue &q = queues_[(worker + i) % queues_.size()];
    if (q.size == 0)
      continue;
    entry = q.pop();
    --queued_;
    return true;
  }
  return false;
}

void Scheduler::push(Entry entry, uint32_t device) {
  std::lock_guard<std::mutex> lock(mutex_);
  queues_[home(device)].push(entry);
  ++queued_;
  if (active_ && sleeping_ > 0)
    wake_.notify_one();
}

void Scheduler::fail(Status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (error_.ok())
    error_ = std::move(status);
  failed_ = true;
}

void Scheduler::process(Entry entry, uint32_t worker) {
  while (entry != kNone) {
    Entry next = kNone;
    if (failed_.load(std::memory_order_relaxed))
      return; // drains the queues
    if (!(entry & kMeetingBit)) {
      if (Status status = executor_->runTask(entry, worker); !status.ok())
        return fail(std::move(status));
      next = complete(entry, kNone);
    } else {
      uint32_t m = entry & ~kMeetingBit;
      const TaskGraph::Meeting &meeting = graph_->meetings[m];
      uint32_t finished = 0, piece;
      while ((piece = state_->nextPiece_[m].fetch_add(1)) < meeting.pieces) {
        if (Status status = executor_->runMeetingPiece(m, piece, worker); !status.ok())
          return fail(std::move(status));
        ++finished;
      }
      // Whoever finishes the last piece lets all participants go on.
      if (finished && state_->openPieces_[m].fetch_sub(finished) == finished)
        for (uint32_t i = 0; i < meeting.numTasks; ++i)
          next = complete(graph_->meetingTasks[meeting.firstTask + i], next);
    }
    entry = next;
  }
}

Scheduler::Entry Scheduler::complete(uint32_t task, Entry next) {
  const TaskGraph::Task &t = graph_->tasks[task];
  state_->done_[task].store(1, std::memory_order_relaxed);
  state_->tasksDone_.fetch_add(1);
  for (uint32_t i = 0; i < t.numSuccessors; ++i) {
    uint32_t s = graph_->successors[t.firstSuccessor + i];
    if (state_->pending_[s].fetch_sub(1) == 1)
      next = becomeReady(s, next);
  }
  return next;
}

Scheduler::Entry Scheduler::becomeReady(uint32_t task, Entry next) {
  uint32_t meeting = graph_->tasks[task].meeting;
  if (meeting != kNone)
    return state_->toArrive_[meeting].fetch_sub(1) == 1 ? startMeeting(meeting, next) : next;
  if (next == kNone)
    return task;
  push(task, graph_->tasks[task].device);
  return next;
}

Scheduler::Entry Scheduler::startMeeting(uint32_t meeting, Entry next) {
  const TaskGraph::Meeting &m = graph_->meetings[meeting];
  Entry entry = meeting | kMeetingBit;
  // One entry for each worker that may help; the pieces are handed out by a counter.
  uint32_t helpers = std::min<uint32_t>(m.pieces, uint32_t(queues_.size()));
  uint32_t first = 0;
  if (next == kNone) {
    next = entry;
    first = 1;
  }
  for (uint32_t h = first; h < helpers; ++h)
    push(entry, graph_->tasks[graph_->meetingTasks[m.firstTask + h % m.numTasks]].device);
  return next;
}

Status Interleaver::run(const TaskGraph &graph, TaskState &state, TaskExecutor &executor,
                        uint64_t seed, bool &stuck) {
  state.reset();
  // splitmix64
  auto random = [x = seed]() mutable {
    uint64_t z = (x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  constexpr uint32_t kMeetingBit = uint32_t(1) << 31;
  std::vector<uint32_t> ready;
  auto becomeReady = [&](uint32_t task) {
    uint32_t meeting = graph.tasks[task].meeting;
    if (meeting == kNone)
      ready.push_back(task);
    else if (state.toArrive_[meeting].fetch_sub(1) == 1)
      ready.push_back(meeting | kMeetingBit);
  };
  auto complete = [&](uint32_t task) {
    const TaskGraph::Task &t = graph.tasks[task];
    state.done_[task].store(1);
    state.tasksDone_.fetch_add(1);
    for (uint32_t i = 0; i < t.numSuccessors; ++i) {
      uint32_t s = graph.successors[t.firstSuccessor + i];
      if (state.pending_[s].fetch_sub(1) == 1)
        becomeReady(s);
    }
  };
  for (uint32_t t = 0; t < graph.tasks.size(); ++t)
    if (graph.tasks[t].dependencies == 0)
      becomeReady(t);
  while (!ready.empty()) {
    size_t pick = size_t(random() % ready.size());
    std::swap(ready[pick], ready.back());
    uint32_t entry = ready.back();
    ready.pop_back();
    if (!(entry & kMeetingBit)) {
      CLEAVE_RETURN_IF_ERROR(executor.runTask(entry, 0));
      complete(entry);
      continue;
    }
    const TaskGraph::Meeting &meeting = graph.meetings[entry & ~kMeetingBit];
    for (uint32_t piece = 0; piece < meeting.pieces; ++piece)
      CLEAVE_RETURN_IF_ERROR(executor.runMeetingPiece(entry & ~kMeetingBit, piece, 0));
    for (uint32_t i = 0; i < meeting.numTasks; ++i)
      complete(graph.meetingTasks[meeting.firstTask + i]);
  }
  stuck = state.tasksDone_.load() != graph.tasks.size();
  return absl::OkStatus();
}

} // namespace cleave::host
