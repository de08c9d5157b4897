// net/task_group.h
//
// Tasks that run side by side and end together. The group owns them and the scope they run in:
// cancel() asks them to stop, join() waits until all have ended and gives the first failure.
// Destroying the group destroys what still runs, without running it any further, as a crash would.
// Lives on one loop; owned by the task or object that spawns.
#pragma once

#include <cstddef>
#include <memory>

#include "net/task.h"

namespace mainspring::net {

class TaskGroup {
 public:
  // `parent` may be null and must outlive the group.
  explicit TaskGroup(Executor& executor, CancelScope* parent = nullptr);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts on the loop's next turn.
  void spawn(Task<Result<void>> task);
  void cancel(Error why = Error(Code::kCancelled, "cancelled"));

  std::size_t running() const;

  // Waits for all, also those spawned meanwhile, whether or not the awaiter's scope is cancelled:
  // to leave early, cancel the group first. One waiter at a time.
  Task<Result<void>> join();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mainspring::net
